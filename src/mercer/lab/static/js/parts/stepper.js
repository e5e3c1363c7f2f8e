// Something that goes step by step: back to the start, one back, one or ten on, play and pause.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { Action } from "./controls.js";

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function Stepper({ what, at, last, onChange, ten = true, pace = 350, ready = true }) {
  const [playing, setPlaying] = useState(false);
  const done = at >= last;
  // While playing, the next step waits for the picture of this one.
  useEffect(() => {
    if (!playing || !ready) return undefined;
    if (done) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => onChange(Math.min(at + 1, last)), still() ? 3 * pace : pace);
    return () => clearTimeout(timer);
  }, [playing, ready, at, last, done]);
  const go = (to) => {
    setPlaying(false);
    onChange(Math.max(0, Math.min(to, last)));
  };
  return html`<div class="stepper" role="group" aria-label=${`Steps: ${what}`}>
    <${Action} label="Back to the start" disabled=${at === 0} onClick=${() => go(0)}>«<//>
    <${Action} label="One step back" disabled=${at === 0} onClick=${() => go(at - 1)}>−1<//>
    <${Action} label="One step" disabled=${done} onClick=${() => go(at + 1)}>+1<//>
    ${ten ? html`<${Action} label="Ten steps" disabled=${done} onClick=${() => go(at + 10)}>+10<//>` : null}
    <${Action} label=${playing ? "Pause" : "Play"} kind="wide" disabled=${done} onClick=${() => setPlaying(!playing)}>
      ${playing ? "Pause" : "Play"}
    <//>
    <${Action} label="To the end" disabled=${done} onClick=${() => go(last)}>»<//>
    <output class="count">${what} ${at} of ${last}</output>
  </div>`;
}
