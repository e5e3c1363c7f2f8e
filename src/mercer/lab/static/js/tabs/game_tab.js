// The game of shattering, both sides. The page remembers the state and sends it with every move; the service checks and answers.

import { html, useEffect, useMemo } from "../../vendor/preact.js";
import { Choice, Figures, Section, Segments } from "../parts/controls.js";
import { Hint, Problem } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { Slider } from "../parts/slider.js";
import { Plane } from "../plane/plane.js";
import { useAsk } from "../service/answer.js";
import { useKept } from "../state/kept.js";
import { freshDraft, kindOf, numbersOf, regionsOf } from "./game_drafts.js";
import { handleLayer, ofAnswer, regionLayer, spotLayer, spots } from "./game_layers.js";

const SIDES = [
  { kind: "label", title: "You label", hint: "the machine places points and must meet your labels" },
  { kind: "place", title: "You place", hint: "you place points and must meet the machine's labels" },
];
const TERMS = ["a, of x²", "b, of xy", "c, of y²", "d, of x", "e, of y", "f, of 1"];
const OPEN = [-1, 3, -1, 3];
const FRESH = { points: null, labels: null, answer: null, draft: null, met: [] };

const signs = (points) => points.map(({ c }) => (c === 1 ? "+" : "-")).join("");

// What the person is to do now, in a sentence.
function instruction(play, game) {
  const { side, answer, count } = play;
  if (!answer) return "One moment…";
  if (answer.winner) return "";
  if (side === "label") {
    const claim = `The machine claims that ${game.title} can label these ${count} points in every way.`;
    return `${claim} Choose labels that none of them gives: click the points, or use the buttons.`;
  }
  if (answer.stage === "place") {
    return `Place ${count} points that ${game.title} can label in every way. The machine then chooses the labels that are hardest for you.`;
  }
  return kindOf(game) === "coefficients"
    ? `Find coefficients of a conic that holds every + and no − point (${answer.labels}), or give up.`
    : `Drag the handles until the shaded part holds every + and no − point, or give up.`;
}

function Verdict({ play }) {
  const { answer, side } = play;
  if (!answer?.winner) return null;
  const won = (answer.winner === "placer") === (side === "place");
  return html`<div class=${`verdict ${won ? "won" : "lost"}`}>
    <h2>${won ? "You win" : "You lose"}</h2>
    <p>${answer.verdict}</p>
    ${answer.why ? html`<p class="why">Why: ${answer.why}.</p>` : null}
  </div>`;
}

function Labels({ labels, onToggle }) {
  return html`<div class="row" role="group" aria-label="Labels of the points">
    ${[...labels].map((sign, i) => html`<button type="button" key=${i}
      aria-label=${`point ${i + 1} is ${sign === "+" ? "plus" : "minus"}; change`}
        onClick=${() => onToggle(i)}>${i + 1} ${sign === "+" ? "+" : "−"}</button>`)}
  </div>`;
}

function Coefficients({ numbers, onChange }) {
  const terms = html`<p class="formula">+ is where a x² + b xy + c y² + d x + e y + f ≥ 0, with these coefficients:</p>`;
  const sliders = numbers.map((value, i) => html`<${Slider} key=${i} label=${TERMS[i]} value=${value} low=${-10} high=${10}
    onChange=${(next) => onChange(numbers.map((old, k) => (k === i ? next : old)))} />`);
  return [terms, ...sliders];
}

// The plane at each stage of the game: what can be moved there, and what is drawn.
function Board({ play, game, setPlay, toggle }) {
  const { answer, side, draft, labels, points, count } = play;
  const window = answer?.window ?? OPEN;
  const flat = game.dimension === 1;
  const stage = answer?.winner ? "over" : (answer?.stage ?? "wait");
  const base = { task: "labels", classes: ["−", "+"], window, points: [] };
  const level = (list) => list.map((point) => (flat ? { ...point, y: 0 } : point));
  const common = { ratio: flat ? 0.4 : 0.92, label: "Board of the game" };
  if (stage === "place") {
    const data = { ...base, points: spots(points, null) };
    const change = (next) => setPlay({ ...play, points: level(next.points).map(({ x, y }) => (flat ? [x] : [x, y])) });
    return html`<${Plane} key="place" ...${common} data=${data} onChange=${change} limit=${count} most=${0}
      above=${spotLayer(points, null)} />`;
  }
  if (stage === "label" && side === "label") {
    const data = { ...base, points: spots(answer.points, labels) };
    const change = (next) => next.points.length === count && setPlay({ ...play, labels: signs(next.points) });
    return html`<${Plane} key="label" ...${common} data=${data} onChange=${change} onPick=${toggle} most=${2}
      above=${spotLayer(answer.points, labels)} />`;
  }
  if (stage === "answer" && draft?.handles) {
    const change = (next) => next.points.length === draft.handles.length && setPlay({ ...play, draft: { handles: level(next.points) } });
    const names = kindOf(game) === "line" ? ["A", "B"] : draft.handles.map((_, i) => "ABCD"[i]);
    return html`<${Plane} key="answer" ...${common} data=${{ ...base, task: "curve", points: draft.handles }} onChange=${change}
      limit=${0}
      below=${regionLayer(regionsOf(game, draft, window), window, true)}
        above=${(layer) => [spotLayer(answer.points, answer.labels)(layer), handleLayer(draft.handles, names)(layer)]} />`;
  }
  const found =
    stage === "answer"
      ? regionLayer(regionsOf(game, draft ?? freshDraft(game, window), window), window, true)
      : regionLayer(ofAnswer(answer?.hypothesis), window);
  return html`<${Plane} key="fixed" ...${common} data=${base} below=${found}
    above=${spotLayer(answer?.points, answer?.labels)} />`;
}

function Moves({ play, game, move, toggle, setPlay }) {
  const { answer, side, points, count, labels, draft } = play;
  const next = answer?.next ?? ["start"];
  const placed = (points ?? []).length;
  const button = (kind, words, extra = {}, disabled = false) =>
    html`<button type="button" class=${kind === "surrender" ? "" : "primary"} disabled=${disabled}
      onClick=${() => move(kind, extra)}>${words}</button>`;
  const labelling = next.includes("label") && side === "label" && labels;
  return html`
    ${labelling ? html`<${Labels} labels=${labels} onToggle=${toggle} />` : null}
    ${next.includes("answer") && draft?.numbers ? html`<${Coefficients} numbers=${draft.numbers}
      onChange=${(numbers) => setPlay({ ...play, draft: { numbers } })} />` : null}
    <p class="row">
      ${labelling ? button("label", "Challenge the machine", { labels }) : null}
      ${next.includes("place") ? button("place", placed < count ? `Place ${count - placed} more` : "Done: let the machine label", { points }, placed !== count) : null}
      ${next.includes("answer") ? button("answer", "This one!", { hypothesis: numbersOf(game, draft ?? freshDraft(game, answer.window)) }) : null}
      ${next.includes("answer") && draft?.handles && kindOf(game) === "line" ? html`<button type="button"
        onClick=${() => setPlay({ ...play, draft: { handles: [...draft.handles].reverse() } })}>Other side</button>` : null}
      ${next.includes("again") ? button("again", side === "label" ? "Try another labelling" : "Next labelling") : null}
      ${next.includes("surrender") ? button("surrender", side === "label" ? "Could I have won?" : "Give up") : null}
      <button type="button" onClick=${() => move("start", {}, true)}>New game</button>
    </p>`;
}

export function GameTab({ lab }) {
  const games = lab.options.game;
  const [play, setPlay] = useKept("game", { kind: games[0].kind, side: "label", count: 4, seed: 0, score: { you: 0, machine: 0 }, ...FRESH });
  const { ask, error, busy } = useAsk();
  const game = games.find(({ kind }) => kind === play.kind) ?? games[0];

  const move = async (kind, extra = {}, afresh = false) => {
    const now = afresh ? { ...play, ...FRESH, seed: play.seed + 1 } : play;
    const { side, count, seed, met, score } = now;
    const shown = { points: now.answer?.points ?? now.points, labels: now.answer?.labels ?? null };
    const request = { class: { kind: now.kind }, side, count, seed, met, score, move: kind, ...shown, ...extra };
    if (now.answer) request.window = now.answer.window;
    const answer = await ask("/api/game", request);
    if (!answer) return;
    setPlay({
      ...now,
      answer,
      points: answer.points ?? now.points,
      labels: answer.stage === "label" ? "-".repeat(now.count) : answer.labels,
      met: answer.met ?? [],
      score: answer.score ?? now.score,
      draft: answer.stage === "answer" ? (kind === "answer" ? now.draft : freshDraft(game, answer.window)) : now.draft,
    });
  };
  // Whatever is played changes with the class, the side and the number of points: a new game.
  const choose = (fields) => setPlay({ ...play, ...FRESH, ...fields });
  useEffect(() => {
    if (!play.answer) move("start");
  }, [play.kind, play.side, play.count, play.answer]);
  const toggle = (i) => {
    const flipped = [...play.labels].map((sign, k) => (k === i ? (sign === "+" ? "-" : "+") : sign));
    setPlay({ ...play, labels: flipped.join("") });
  };
  const words = instruction(play, game);
  const met = play.met.length + (play.answer?.winner === "placer" ? 1 : 0); // earlier rounds, and the one just won
  useAnnounced(error ? `Refused: ${error.message}` : play.answer?.verdict || words);
  const most = lab.options.limits?.game_points ?? 10;
  const board = useMemo(() => html`<${Board} play=${play} game=${game} setPlay=${setPlay} toggle=${toggle} />`, [play, game]);
  return html`<div class="columns">
    <section class="stage" aria-label="Board">${board}</section>
    <section class="answers" aria-label="Moves" aria-busy=${busy}>
      ${words ? html`<p class="story">${words}</p>` : null}
      <${Verdict} play=${play} />
      <${Problem} error=${error} />
      <${Moves} play=${play} game=${game} move=${move} toggle=${toggle} setPlay=${setPlay} />
      <${Figures} list=${[
        ["you", String(play.score?.you ?? 0), "rounds won", "you"],
        ["machine", String(play.score?.machine ?? 0), "rounds won", "machine"],
        play.answer?.winner ? ["VC dimension", String(play.answer.vc ?? "infinite"), undefined, "vc"] : null,
        met ? ["labellings met", `${met} of ${2 ** play.count}`, "labellings of these points that a hypothesis gave", "met"] : null,
      ]} />
    </section>
    <section class="settings" aria-label="Settings">
      <${Section} title="The game">
        <${Choice} label="Class" value=${play.kind} options=${games} onChange=${(kind) => choose({ kind })} />
        <${Segments} label="Your side" value=${play.side} options=${SIDES} onChange=${(side) => choose({ side })} />
        <${Slider} label="Points" value=${play.count} low=${1} high=${Math.min(most, 7)} scale="integer"
          onChange=${(count) => choose({ count })} />
        <${Hint}>A class shatters points if it can label them in every way. The most points that it can shatter are its VC dimension.<//>
      <//>
    </section>
  </div>`;
}
