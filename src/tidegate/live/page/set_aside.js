// The table of late and rejected rows: the latest ones of the source or operator that is chosen.

import { byId, el, show, table } from "./dom.js";
import { count } from "./format.js";

let chosen = null, loaded = "", ask;

export function showSetAside(run, asker) {
  ask = asker;
  const groups = run.asides.filter((a) => a.rows);
  byId("aside").hidden = !groups.length;
  if (!groups.length) return;
  if (!groups.some((a) => a.name === chosen)) chosen = groups[0].name;
  show(byId("aside-form"), [groups.map((a) => [a.name, a.rows]), chosen], () => [
    el("fieldset", {}, el("legend", {}, "of"), groups.map((a) => el("label", { class: "choice" },
      el("input", { type: "radio", name: "aside", value: a.name, checked: a.name === chosen, on: { change: () => { chosen = a.name; loaded = ""; load(); } } }),
      ` ${a.name} (${count(a.rows)})`))),
  ]);
  const now = JSON.stringify([run.checkpoint, run.step, groups, chosen]);
  if (now !== loaded) {
    loaded = now;
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
