// Rows that came late or were rejected: the latest of a source or an operator.

import { byId, el, show, table } from "./dom.js";
import { count } from "./format.js";

let chosen = null, seen = "", ask;

export function showAside(run, asker) {
  ask = asker;
  const some = run.asides.filter((a) => a.rows);
  byId("aside").hidden = !some.length;
  if (!some.length) return;
  if (!some.some((a) => a.name === chosen)) chosen = some[0].name;
  show(byId("aside-form"), [some.map((a) => [a.name, a.rows]), chosen], () => [
    el("fieldset", {}, el("legend", {}, "of"), some.map((a) => el("label", { class: "choice" },
      el("input", { type: "radio", name: "aside", value: a.name, checked: a.name === chosen, on: { change: () => { chosen = a.name; seen = ""; load(); } } }),
      ` ${a.name} (${count(a.rows)})`))),
  ]);
  const now = JSON.stringify([run.checkpoint, run.step, some, chosen]);
  if (now !== seen) {
    seen = now;
    load();
  }
}

async function load() {
  const name = chosen;
  let found;
  try {
    found = await ask("aside", { name });
  } catch (error) {
    found = { rows: [], problems: [error.message] };
  }
  if (name !== chosen) return;
  table(byId("aside-rows"), [["time"], ["step", "number"], ["reason", "text"], ["row", "wide"]], [
    ...found.rows.map((row) => [row.time, count(row.step), row.bound ? `${row.reason}: complete below ${row.bound}` : row.reason,
      row.row.map(([column, value]) => `${column} = ${value}`).join(", ")]),
    ...found.problems.map((problem) => ["", "", problem, ""]),
  ]);
}
