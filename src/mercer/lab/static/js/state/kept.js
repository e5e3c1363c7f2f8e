// State that outlives a reload but belongs to this browser tab alone. A browser that keeps nothing is no reason to fail.

import { useEffect, useState } from "../../vendor/preact.js";

const PREFIX = "mercer-lab/";

export function read(key, otherwise) {
  try {
    const text = sessionStorage.getItem(PREFIX + key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Full or forbidden: the page goes on, and forgets on reload.
  }
}

// Like useState. What was kept by an older page may lack fields, so the initial ones stand below it.
export function useKept(key, initial) {
  const plain = typeof initial !== "object" || initial === null || Array.isArray(initial);
  const [value, setValue] = useState(() => {
    const old = read(key, null);
    if (old === null) return initial;
    return plain ? old : { ...initial, ...old };
  });
  useEffect(() => keep(key, value), [key, value]);
  return [value, setValue];
}
