// The page. Once a second, it asks the server for what is new, and shows it.

import { byId, el, plain, show, table } from "./dom.js";
import { bytes, clock, count, rate, seconds } from "./format.js";
import { drawGraph, markGraph, highlight } from "./graph.js";
import { drawCharts, recentRates } from "./charts.js";
import { showWhy, askSink } from "./why.js";
import { chooseOrder, showOrder } from "./orders.js";
import { showSetAside } from "./set_aside.js";

const EVERY = 1000;
const KEPT = 400;
const WORDS = {
  running: "running", stopped: "stopped", ended: "ended", failed: "failed",
  dead: "died", unknown: "unknown", empty: "not begun",
};

const state = { run: 0, steps: [], snapshot: null, pictured: "", announced: {}, waiting: null, asked: 0 };

async function get(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

export const ask = (what, given = {}) => {
  const query = new URLSearchParams(Object.entries(given).flatMap(([k, v]) => [v].flat().map((each) => [k, each])));
  return get(`/api/run/${state.run}${what ? `/${what}` : ""}?${query}`);
};

function chosenRun() {
  const found = /run=(\d+)/.exec(location.hash);
  return found ? Number(found[1]) : 0;
}

function showRuns(runs) {
  show(byId("runs"), [runs, state.run], () => runs.map((run, i) => el(
    "a", { href: `#run=${i}`, class: `run ${run.state}`, "aria-current": i === state.run ? "page" : null },
    el("span", { class: "dot", "aria-hidden": "true" }),
    el("span", { class: "name" }, run.flow || "a flow"),
    el("span", { class: "what" }, `${WORDS[run.state] || run.state}${run.step === null ? "" : `, step ${count(run.step)}`}`),
  )));
}

function showHead(run) {
  const doing = run.doing.step === undefined ? "" : run.doing.round === undefined
    ? `in step ${count(run.doing.step)} since ${clock(run.doing.since)}`
    : `in step ${count(run.doing.step)}, round ${count(run.doing.round)} of ${run.doing.loop}`;
  const { now, last } = recentRates(state.steps);
  const engine = { local: "on the local engine", spark: "on Spark" }[run.engine] || "";
  const figures = [
    ["rows a second", run.state === "running" ? rate(now) : "0"],
    ["last step", last ? seconds(last.seconds) : ""],
    ["steps", run.step === null ? "0" : count(run.step + 1)],
    ["rows held", count(run.states.reduce((n, s) => n + s.rows, 0)), bytes(run.states.reduce((n, s) => n + s.bytes, 0))],
    ["late", count(run.sources.reduce((n, s) => n + s.late, 0))],
    ["rejected", count(run.asides.length ? rejectedOf(run) : 0)],
  ];
  show(byId("head"), [run.flow, run.state, run.holder, run.checkpoint, run.failure, doing, figures, engine], () => [
    el("div", { class: "title" },
      el("h2", {}, run.flow || "a flow"),
      el("span", { class: `badge ${run.state}` }, WORDS[run.state] || run.state),
      el("span", { class: "where" }, [engine, run.holder && `by ${run.holder}`, doing].filter(Boolean).join(", "))),
    el("p", { class: "path" }, run.checkpoint),
    run.failure && el("p", { class: "problem", role: "alert" }, run.failure),
    el("dl", { class: "figures" }, figures.map(([what, value, more]) => el("div", {}, el("dt", {}, what), el("dd", {}, value || "–", more ? el("small", {}, ` ${more}`) : null)))),
  ]);
}

function rejectedOf(run) {
  const sources = new Set(run.sources.map((s) => s.id));
  const bySources = run.sources.reduce((n, s) => n + s.rejected, 0);
  return bySources + run.asides.filter((a) => !sources.has(a.name) && !a.name.startsWith("late/")).reduce((n, a) => n + a.rows, 0);
}

function showTables(run) {
  const rates = recentRates(state.steps).sources;
  table(byId("sources"),
    [["source"], ["not complete from", "text"], ["rows", "number"], ["a second", "number"], ["late", "number"], ["rejected", "number"], ["behind the clock", "number"], ["promise", "text"]],
    run.sources.map((s) => [s.id, s.frontier || "–", count(s.rows), run.state === "running" ? rate(rates[s.id] || 0) : "–",
      count(s.late), count(s.rejected), s.behind === null || s.behind === undefined ? "–" : seconds(s.behind),
      [s.promises, s.because].filter(Boolean).join("; ")]));
  table(byId("sinks"),
    [["sink"], ["not complete from", "text"], ["rows", "number"], ["in the last step", "number"], ["goes to", "text"]],
    run.sinks.map((s) => [s.name, s.frontier || "–", s.rows === null || s.rows === undefined ? "–" : count(s.rows), count(s.last), s.output]));
  table(byId("states"),
    [["operator"], ["rows", "number"], ["size", "number"], ["parts", "number"]],
    run.states.map((s) => [s.operator || s.key, count(s.rows), bytes(s.bytes), count(s.parts)]));
}

// Screen readers read out only a new state of the run or a new number of problems, once.
function announce(run) {
  const text = `${run.flow} ${WORDS[run.state] || run.state}${run.problems.length ? `, ${run.problems.length} problems` : ""}`;
  if (state.announced[state.run] === text) return;
  state.announced[state.run] = text;
  byId("status").textContent = plain(text);
  document.title = plain(`${run.flow || "Tidegate"}: ${WORDS[run.state] || run.state}`);
}

function showProblems(problems, warnings) {
  show(byId("problems"), [problems, warnings], () => [
    ...problems.map((text) => el("p", { class: "problem", role: "alert" }, ...text.split("\n").flatMap((line) => [line, el("br")]))),
    warnings.length ? el("details", { class: "warnings" },
      el("summary", {}, warnings.length === 1 ? "One warning about this flow" : `${warnings.length} warnings about this flow`),
      el("ul", {}, warnings.map(([operator, what, hint]) => el("li", {}, el("b", {}, operator), `: ${what} `, el("i", {}, hint))))) : null,
  ]);
}

async function refresh() {
  const asked = ++state.asked;
  try {
    const number = state.run;
    const after = state.steps.length ? state.steps[state.steps.length - 1].at : 0;
    const [runs, run] = await Promise.all([get("/api/runs"), ask("", { after })]);
    if (asked !== state.asked || number !== state.run) return;
    state.steps = [...state.steps, ...run.steps].slice(-KEPT);
    state.snapshot = run;
    showRuns(runs);
    byId("runs").hidden = runs.length < 2;
    showHead(run);
    showProblems(run.problems, run.warnings);
    await showGraph(run);
    showTables(run);
    drawCharts(byId("chart-list"), state.steps, run.state === "running");
    showWhy(run, ask, highlight);
    showOrder(run, state.orders || {}, `${state.run}`);
    showSetAside(run, ask);
    announce(run);
    byId("problems").classList.remove("lost");
  } catch (error) {
    if (asked !== state.asked) return;
    showProblems([`This page gets no answer: ${error.message}. It asks again; or the server was stopped.`], []);
  }
}

async function showGraph(run) {
  const shape = JSON.stringify([state.run, run.flow, Object.keys(run.places)]);
  if (shape !== state.pictured) {
    const found = await ask("pictures");
    state.pictured = shape;
    state.orders = found.orders;
    drawGraph(byId("graph"), found.flow, (id) => choose(id));
    byId("flow").hidden = !found.flow;
  }
  markGraph(byId("graph"), run);
  showBox();
}

function choose(id) {
  state.box = id;
  showBox();
  chooseOrder(id, state.snapshot);
  showOrder(state.snapshot, state.orders || {}, `${state.run}`);
  if (id.startsWith("sink ")) askSink(id.slice(5));
}

function showBox() {
  const run = state.snapshot;
  const place = run.places[state.box];
  byId("box").hidden = !place;
  if (!place) return;
  const name = state.box.startsWith("sink ") ? state.box.slice(5) : state.box;
  byId("box-title").textContent = plain(name);
  const lines = [
    ["not complete from", place.frontier],
    ["time", place.time.map(([column, type]) => `${column} ${type}`).join(", ")],
    place.rows !== undefined && ["holds", `${count(place.rows)} rows, ${bytes(place.bytes)}`],
  ].filter(Boolean);
  show(byId("box-text"), [state.box, lines], () => [
    el("dl", {}, lines.map(([what, value]) => [el("dt", {}, what), el("dd", {}, value)])),
  ]);
}

function showChosenRun() {
  state.run = chosenRun();
  Object.assign(state, { steps: [], pictured: "", box: null });
  highlight([]);
  return refresh();
}

async function poll() {
  if (!document.hidden) await refresh();
  state.waiting = setTimeout(poll, EVERY);
}

addEventListener("hashchange", showChosenRun);
addEventListener("resize", () => state.snapshot && refresh());
document.addEventListener("visibilitychange", () => document.hidden || refresh());
showChosenRun().then(() => { state.waiting = setTimeout(poll, EVERY); });
