// Why a time is not complete: a form with the sink and the time, and the answer as text and in the graph.

import { byId, el, plain, show } from "./dom.js";

let ask, highlight, run, answered = "", last = null;

export function askSink(name) {
  const sink = byId("why-sink");
  sink.value = name;
  showTimes();
  byId("why-times").querySelector("input")?.focus();
}

export function showWhy(snapshot, asker, highlighter) {
  [run, ask, highlight] = [snapshot, asker, highlighter];
  const sinks = run.sinks.filter((s) => s.time);
  byId("why").hidden = !sinks.length;
  const select = byId("why-sink");
  const chosen = select.value;
  if (show(select, sinks.map((s) => s.name), () => sinks.map((s) => el("option", { value: s.name }, s.name)))) {
    if (sinks.some((s) => s.name === chosen)) select.value = chosen;
    answered = "";
    last = null;
    byId("why-answer").replaceChildren();
  }
  showTimes();
  // Ask again in each view, so that the answer stays up to date, until another question is asked.
  if (last) answer(last);
}

function columnsOf(name) {
  return run.sinks.find((s) => s.name === name)?.time || [];
}

function example(type, name) {
  const frontier = run.sinks.find((s) => s.name === name)?.frontier || "";
  const least = run.places[`sink ${name}`]?.least;
  if (least) return least[0] ?? run.places[`sink ${name}`].elements[0];
  const first = /^[\d: .-]+$/.test(frontier) ? frontier : "";
  if (type.startsWith("TIMESTAMP")) return first || "2026-01-01 00:00:00";
  return type === "DATE" ? first || "2026-01-01" : type.startsWith("STRUCT") ? "left 3" : first || "7";
}

function showTimes() {
  const name = byId("why-sink").value;
  const columns = columnsOf(name);
  show(byId("why-times"), [name, columns], () => columns.map(([column, type]) => el(
    "label", {}, `${column} `, el("input", { name: "time", required: true, placeholder: example(type, name), size: type.startsWith("TIMESTAMP") ? 20 : 11, spellcheck: "false" }),
  )));
}

function given() {
  const texts = [...byId("why-times").querySelectorAll("input")].map((input) => input.value.trim() || input.placeholder);
  const [[, type] = ["", ""]] = columnsOf(byId("why-sink").value);
  // A time of a sum is a side and a value.
  return type.startsWith("STRUCT") ? texts[0].split(/\s+(.*)/s).slice(0, 2) : texts;
}

async function answer(question, aloud = false) {
  let found;
  try {
    found = await ask("why", question);
  } catch (error) {
    found = { error: error.message };
  }
  if (last !== question) return;
  const text = JSON.stringify([question, found]);
  if (text === answered) return;
  answered = text;
  // Screen readers read out the answer to a question once, and not each time that it changes.
  if (aloud) byId("status").textContent = plain(summary(found));
  highlight(found.reasons ? found.reasons.map((reason) => pathOf(reason)) : []);
  const at = question.time.length > 1 ? `(${question.time.join(", ")})` : question.time[0];
  const about = el("p", { class: "about" }, el("b", {}, at), " at ", el("b", {}, question.sink), found.complete ? " is complete: nothing can reach it any more." : "");
  byId("why-answer").replaceChildren(...(found.error
    ? [el("p", { class: "problem" }, found.error)]
    : [about, found.complete ? null : el("ol", { class: "reasons" }, found.reasons.map(reasonItem)), el("button", { type: "button", on: { click: forget } }, "Forget it")].filter(Boolean)));
}

function summary(found) {
  if (found.error) return found.error;
  if (found.complete) return "It is complete.";
  return `It is held back by ${[...new Set(found.reasons.map((reason) => reason.from))].join(", ")}.`;
}

function pathOf(reason) {
  return reason.path.map((place) => place.box).filter((box, i, all) => box !== all[i - 1]);
}

function reasonItem(reason) {
  const what = reason.round
    ? [el("b", {}, reason.from), ` is still in its rounds, at ${reason.time}.`]
    : ["Source ", el("b", {}, reason.from), ` may still give rows from ${reason.time} on`, reason.because ? `: ${reason.because}.` : "."];
  const steps = reason.path.map((place, i) => [
    i ? el("span", { class: "arrow", "aria-label": "then" }, " → ") : null,
    el("span", { class: "place" }, place.name, el("small", {}, place.time)),
  ]);
  return el("li", {}, el("p", {}, what), el("p", { class: "way" }, steps));
}

function forget() {
  last = null;
  answered = "";
  highlight([]);
  byId("why-answer").replaceChildren();
  byId("why-sink").focus();
}

byId("why-sink").addEventListener("change", showTimes);
byId("why-form").addEventListener("submit", (event) => {
  event.preventDefault();
  last = { sink: byId("why-sink").value, time: given() };
  answered = "";
  answer(last, true);
});

// Return the last question, a sink and a time, or null; the plot marks its time.
export const currentQuestion = () => last;
