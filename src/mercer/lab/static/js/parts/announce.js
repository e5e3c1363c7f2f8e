// A polite live region: results in one sentence, said once they have come to rest.

import { html, useEffect, useState } from "../../vendor/preact.js";

let show = () => {};
let timer = 0;

export function announce(words, wait = 500) {
  clearTimeout(timer);
  timer = setTimeout(() => show(words), wait);
}

export function Announcer() {
  const [words, setWords] = useState("");
  useEffect(() => {
    show = setWords;
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="unseen" role="status" aria-live="polite" id="said">${words}</div>`;
}

// Say a sentence whenever it changes.
export function useAnnounced(words) {
  useEffect(() => {
    if (words) announce(words);
  }, [words]);
}
