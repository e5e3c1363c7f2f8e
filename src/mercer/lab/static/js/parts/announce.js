// A polite live region. What was done is said at once; results and the cursor speak when they have come to rest.

import { html, useEffect, useState } from "../../vendor/preact.js";

const KEPT = 4; // sentences that stay in the region: one must not take the place of another that is still to be read

let show = () => {};
let count = 0;
const timers = new Map();

// Of what `who` says, only the last is said, after `wait` milliseconds; without `who` nothing is dropped.
export function announce(words, who = null, wait = 500) {
  const say = () => show((said) => [...said, { words, key: (count += 1) }].slice(-KEPT));
  if (who === null) return say();
  clearTimeout(timers.get(who));
  timers.set(who, setTimeout(say, wait));
  return undefined;
}

export function Announcer() {
  const [said, setSaid] = useState([]);
  useEffect(() => {
    show = setSaid;
    return () => timers.forEach((timer) => clearTimeout(timer));
  }, []);
  return html`<div class="unseen" role="status" aria-live="polite" aria-atomic="false" id="said">
    ${said.map(({ words, key }) => html`<p key=${key}>${words}</p>`)}
  </div>`;
}

// Say a sentence whenever it changes.
export function useAnnounced(words) {
  useEffect(() => {
    if (words) announce(words, "results");
  }, [words]);
}
