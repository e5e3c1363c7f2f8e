// The answer to the newest question. After a silence it is asked at once, in a run of changes (a slider that moves) when
// they pause; older questions are aborted and their answers dropped.

import { useEffect, useRef, useState } from "../../vendor/preact.js";
import { Gone, get, post } from "./ask.js";
import { useConnection } from "./connection.js";

const NOTHING = { answer: null, asked: null, error: null, busy: false };

// `request` null asks nothing. `asked` is the request that `answer` belongs to, which may be older than `request`.
export function useAnswer(path, request, wait = 60) {
  const [state, setState] = useState(NOTHING);
  const { epoch } = useConnection();
  const changed = useRef(-Infinity);
  const text = request === null ? null : JSON.stringify(request);
  useEffect(() => {
    if (text === null) {
      setState(NOTHING);
      return undefined;
    }
    const controller = new AbortController();
    const asked = JSON.parse(text);
    const silence = performance.now() - changed.current;
    changed.current = performance.now();
    setState((old) => ({ ...old, busy: true }));
    const timer = setTimeout(async () => {
      try {
        const answer = await post(path, asked, controller.signal);
        if (!controller.signal.aborted) setState({ answer, asked, error: null, busy: false });
      } catch (error) {
        if (controller.signal.aborted) return;
        // A service that is gone takes nothing back that it said; a refusal says that there is no answer.
        const kept = error instanceof Gone ? {} : { answer: null, asked: null };
        setState((old) => ({ ...old, ...kept, error, busy: false }));
      }
    }, silence > 2 * wait ? 0 : wait);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [path, text, epoch]);
  return state;
}

// The same for something that is only read.
export function useRead(path) {
  const [state, setState] = useState(NOTHING);
  const { epoch } = useConnection();
  useEffect(() => {
    const controller = new AbortController();
    setState((old) => ({ ...old, busy: true }));
    get(path, controller.signal)
      .then((answer) => setState({ answer, asked: path, error: null, busy: false }))
      .catch((error) => {
        if (!controller.signal.aborted) setState((old) => ({ ...old, error, busy: false }));
      });
    return () => controller.abort();
  }, [path, epoch]);
  return state;
}

// A single question that a button asks. A second press aborts the first.
export function useAsk() {
  const [state, setState] = useState({ error: null, busy: false });
  const current = useRef(null);
  useEffect(() => () => current.current?.abort(), []);
  const ask = async (path, request) => {
    current.current?.abort();
    const controller = new AbortController();
    current.current = controller;
    setState({ error: null, busy: true });
    try {
      const answer = await post(path, request, controller.signal);
      if (controller.signal.aborted) return null;
      setState({ error: null, busy: false });
      return answer;
    } catch (error) {
      if (!controller.signal.aborted) setState({ error, busy: false });
      return null;
    }
  };
  const refuse = (error) => setState({ error, busy: false });
  return { ask, refuse, ...state };
}
