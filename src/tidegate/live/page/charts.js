// Charts of the last steps: rows per second, seconds per step, and rows that are held.

import { el, show, svg } from "./dom.js";
import { bytes, clock, count, rate, seconds } from "./format.js";

const HEIGHT = 130, LEFT = 52, BOTTOM = 20, TOP = 10;
let WIDTH = 420;
const BUCKETS = 60;

const rowsOf = (step) => Object.values(step.rows).reduce((a, b) => a + b, 0);

// Return the rows per second of each source and of all sources, over the last ten seconds or so.
export function recentRates(steps) {
  const last = steps[steps.length - 1];
  if (!last) return { now: 0, last: null, sources: {} };
  const until = Math.max(last.at, Date.now() / 1000);
  let from = until - 10;
  const recent = steps.filter((s) => s.at > from);
  const span = Math.max(recent.length ? until - Math.min(recent[0].at - recent[0].seconds, until - 1) : 10, 1);
  const sources = {};
  for (const step of recent) for (const [name, n] of Object.entries(step.rows)) sources[name] = (sources[name] || 0) + n / span;
  return { now: Object.values(sources).reduce((a, b) => a + b, 0), last, sources };
}

export function drawCharts(element, steps, running) {
  // The drawing is as large as its place on the page, so its texts are as large as all others.
  const columns = Math.max(1, Math.floor((element.clientWidth + 12) / 312));
  WIDTH = Math.max(260, Math.round(element.clientWidth / Math.min(columns, 3)) - 12);
  const key = [WIDTH, steps.length, steps[steps.length - 1], running && Math.floor(Date.now() / 2000)];
  show(element, key, () => {
    if (!steps.length) return [el("p", { class: "hint" }, "No step has been reported yet.")];
    const to = running ? Math.max(Date.now() / 1000, steps[steps.length - 1].at) : steps[steps.length - 1].at;
    const from = Math.min(steps[0].at - steps[0].seconds, to - 5);
    const width = Math.max((to - from) / BUCKETS, 0.5);
    const buckets = Array.from({ length: BUCKETS }, () => ({ rows: 0, out: 0 }));
    for (const step of steps) {
      const i = Math.min(BUCKETS - 1, Math.max(0, Math.floor((step.at - from) / width)));
      buckets[i].rows += rowsOf(step) / width;
      buckets[i].out += step.out / width;
    }
    const area = buckets.map((b, i) => [from + (i + 0.5) * width, b.rows]).filter(([at]) => at <= to + width);
    const out = buckets.map((b, i) => [from + (i + 0.5) * width, b.out]).filter(([at]) => at <= to + width);
    const most = Math.max(...area.map(([, n]) => n));
    const times = steps.map((s) => s.seconds).sort((a, b) => a - b);
    const held = steps.map((s) => [s.at, s.held]);
    const last = steps[steps.length - 1];
    return [
      chart("Rows a second", `${rate(most)} at most; dashed: rows that came out`, from, to, rate, [{ points: area, kind: "area" }, { points: out, kind: "second" }]),
      chart("Seconds a step", `median ${seconds(times[times.length >> 1])}, longest ${seconds(times[times.length - 1])}`, from, to, seconds,
        [{ points: steps.map((s) => [s.at, s.seconds]), kind: "bars" }]),
      chart("Rows held", `${count(last.held)} now, ${bytes(last.bytes) || "0 B"}`, from, to, count, [{ points: held, kind: "steps" }]),
    ];
  });
}

function chart(title, text, from, to, format, series) {
  const top = roundUp(Math.max(...series.flatMap((s) => s.points.map(([, n]) => n)), 0) || 1);
  const x = (at) => LEFT + ((at - from) / (to - from || 1)) * (WIDTH - LEFT - 8);
  const y = (n) => HEIGHT - BOTTOM - (n / top) * (HEIGHT - BOTTOM - TOP);
  const drawn = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${text}`, class: "chart" });
  for (const n of [0, top / 2, top]) {
    drawn.append(svg("line", { x1: LEFT, x2: WIDTH - 8, y1: y(n), y2: y(n), class: n ? "grid" : "axis" }),
      svg("text", { x: LEFT - 6, y: y(n) + 4, class: "tick", "text-anchor": "end" }, format(n)));
  }
  for (const [at, anchor] of [[from, "start"], [(from + to) / 2, "middle"], [to, "end"]]) {
    drawn.append(svg("text", { x: x(at), y: HEIGHT - 5, class: "tick", "text-anchor": anchor }, clock(at)));
  }
  for (const { points, kind } of series) drawn.append(...shape(points, kind, x, y));
  return el("figure", {}, el("figcaption", {}, el("b", {}, title), ` ${text}`), drawn);
}

function shape(points, kind, x, y) {
  if (kind === "bars") return points.map(([at, n]) => svg("line", { x1: x(at), x2: x(at), y1: y(0), y2: Math.min(y(n), y(0) - 1), class: "bar" }));
  const line = points.map(([at, n], i) => (kind === "steps" && i ? `H${x(at).toFixed(1)}V${y(n).toFixed(1)}` : `${i ? "L" : "M"}${x(at).toFixed(1)},${y(n).toFixed(1)}`)).join("");
  const found = [svg("path", { d: line, class: `line ${kind}` })];
  if (kind === "area" && points.length) {
    found.unshift(svg("path", { d: `${line}V${y(0)}H${x(points[0][0]).toFixed(1)}Z`, class: "ground" }));
  }
  return found;
}

function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 4, 5, 10].map((m) => m * power).find((m) => m >= n) || n;
}
