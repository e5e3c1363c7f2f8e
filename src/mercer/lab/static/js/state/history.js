// State with undo and redo, kept for this browser tab.

import { useCallback, useEffect, useState } from "../../vendor/preact.js";
import { keep, read } from "./kept.js";

const MOST = 200;
const TOGETHER = 700; // Changes of one thing within so many milliseconds, such as a drag, are undone together.

function changed(old, next, what) {
  const now = Date.now();
  const together = what !== null && what === old.what && now - old.when < TOGETHER;
  const past = together ? old.past : [...old.past, old.present].slice(-MOST);
  return { past, present: next, future: [], what, when: now };
}

// `sound` says whether what was kept can be used; if not, the page begins anew.
export function useHistory(key, initial, sound) {
  const [all, setAll] = useState(() => ({
    past: [],
    present: [read(key, null)].find(sound) ?? initial,
    future: [],
    what: null,
    when: 0,
  }));
  useEffect(() => keep(key, all.present), [key, all.present]);

  // `next` is a function of the present; `what` names a change that may be joined with the one before.
  const change = useCallback((next, what = null) => {
    setAll((old) => {
      const present = next(old.present);
      return present === old.present ? old : changed(old, present, what);
    });
  }, []);
  // What is there from the first: it can't be undone. Whoever has done something already keeps that.
  const begin = useCallback((fields) => {
    setAll((old) => (old.past.length ? old : { ...old, present: { ...old.present, ...fields } }));
  }, []);
  const undo = useCallback(() => {
    setAll((old) => {
      if (!old.past.length) return old;
      const past = old.past.slice(0, -1);
      return { past, present: old.past.at(-1), future: [old.present, ...old.future], what: null, when: 0 };
    });
  }, []);
  const redo = useCallback(() => {
    setAll((old) => {
      if (!old.future.length) return old;
      const [present, ...future] = old.future;
      return { past: [...old.past, old.present], present, future, what: null, when: 0 };
    });
  }, []);
  return { present: all.present, begin, change, undo, redo, canUndo: all.past.length > 0, canRedo: all.future.length > 0 };
}
