// The page: its head, its tabs, and the state that all of them share.

import { html, render, useCallback, useEffect, useState } from "../vendor/preact.js";
import { Announcer } from "./parts/announce.js";
import { Problem, ServiceGone } from "./parts/notice.js";
import { Tabs } from "./parts/tabs.js";
import { ThemeSwitch } from "./parts/theme.js";
import { useAsk, useRead } from "./service/answer.js";
import { isData, isMachine } from "./state/checked.js";
import { useHistory } from "./state/history.js";
import { read, useKept } from "./state/kept.js";
import { leaf } from "./state/kernel_tree.js";
import { EMPTY, FIRST, fromAnswer } from "./state/points.js";
import { ClustersTab } from "./tabs/clusters_tab.js";
import { FitTab } from "./tabs/fit_tab.js";
import { GameTab } from "./tabs/game_tab.js";
import { OnlineTab } from "./tabs/online_tab.js";
import { TableTab } from "./tabs/table_tab.js";

const TABS = [
  { kind: "fit", title: "Learn", show: FitTab },
  { kind: "online", title: "Online", show: OnlineTab },
  { kind: "clusters", title: "Clusters", show: ClustersTab },
  { kind: "game", title: "Shattering", show: GameTab },
  { kind: "table", title: "Table", show: TableTab },
];

const isTyping = (element) => element.matches?.("input[type=text], textarea, select");

// Undo and redo as everywhere; in a text field these keys are the field's own.
function useUndoKeys({ undo, redo }) {
  useEffect(() => {
    const onKeyDown = (event) => {
      if (!(event.ctrlKey || event.metaKey) || isTyping(event.target)) return;
      const key = event.key.toLowerCase();
      if (key === "z" && !event.shiftKey) undo();
      else if (key === "y" || key === "z") redo();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [undo, redo]);
}

// A page that is opened for the first time begins with a sample: there is something to see, and one click clears it.
function useFirstSample(options, begin) {
  const { ask } = useAsk();
  const [fresh] = useState(() => read("state", null) === null); // looked at before anything is kept
  useEffect(() => {
    const [sample] = options.samples.filter(({ task }) => task === "labels");
    if (!fresh || !sample) return;
    ask("/api/sample", { kind: sample.kind, ...FIRST }).then((answer) => answer && begin({ data: fromAnswer(answer) }));
  }, []);
}

function Lab({ options }) {
  const [tab, setTab] = useKept("tab", "fit");
  const history = useHistory("state", {
    data: EMPTY,
    machine: { kernel: leaf(options, options.kernels[0].kind), loss: null, lam: 0.01, offset: true },
  }, (kept) => isData(kept?.data, options) && isMachine(kept.machine, options));
  useUndoKeys(history);
  const { present, change } = history;
  const setData = useCallback((data, what) => change((old) => ({ ...old, data }), what), [change]);
  const setMachine = useCallback((machine, what) => change((old) => ({ ...old, machine }), what), [change]);
  useFirstSample(options, history.begin);
  const replace = useCallback((next) => change((old) => ({ ...old, ...next })), [change]);
  const lab = { options, history, present, ...present, setData, setMachine, replace };
  const { show } = TABS.find(({ kind }) => kind === tab) ?? TABS[0];
  return html`<header>
      <h1>Mercer <span>lab</span></h1>
      <${Tabs} tabs=${TABS} current=${tab} onChange=${setTab} />
      <${ThemeSwitch} />
    </header>
    <${ServiceGone} />
    <main>
      <div id="panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}><${show} lab=${lab} key=${tab} /></div>
    </main>
    <footer>mercer ${options.version}: all numbers come from the library, on this machine.</footer>`;
}

function Page() {
  const { answer: options, error } = useRead("/api/options");
  if (options) return html`<${Lab} options=${options} /><${Announcer} />`;
  return html`<main><h1 class="unseen">Mercer lab</h1><${ServiceGone} /><${Problem} error=${error} />${error ? null : html`<p
    class="hint">One moment…</p>`}</main>`;
}

render(html`<${Page} />`, document.getElementById("lab"));
