// Whether the service answers. When it is gone, the page says so once, and every question waits for a retry.

import { useEffect, useState } from "../../vendor/preact.js";

const listeners = new Set();
let state = { gone: false, epoch: 0 };

function change(next) {
  state = { ...state, ...next };
  for (const listener of listeners) listener(state);
}

export function lost() {
  if (!state.gone) change({ gone: true });
}

// A new epoch makes every question that is on the page be asked again.
export function found() {
  if (state.gone) change({ gone: false, epoch: state.epoch + 1 });
}

export function useConnection() {
  const [seen, see] = useState(state);
  useEffect(() => {
    listeners.add(see);
    see(state);
    return () => listeners.delete(see);
  }, []);
  return seen;
}
