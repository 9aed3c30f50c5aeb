// What is complete if times are not on one line. Two time columns are a plot, in which the frontier is a staircase. A
// finite order is a diagram.

import { byId, el, picture, plain, show, svg } from "./dom.js";
import { short, time } from "./format.js";
import { currentQuestion } from "./why.js";

const LEFT = 92, RIGHT = 16, TOP = 26, BOTTOM = 44;
let WIDTH = 560, HEIGHT = 380;
const TRAIL = 6;
const chosen = { place: null, x: 0, y: 1 };
let trails = new Map(), owner = "";

// Choose the box whose times are shown, unless its times are on one line.
export function chooseOrder(id, run) {
  if (["product", "poset", "sum"].includes(run.places[id]?.order)) chosen.place = id;
}

export function showOrder(run, orders, key) {
  if (owner !== key) {
    owner = key;
    trails = new Map();
    Object.assign(chosen, { place: null, x: 0, y: 1 });
  }
  const names = Object.keys(run.places).filter((id) => ["product", "poset", "sum"].includes(run.places[id].order));
  byId("order").hidden = !names.length;
  if (!names.length) return;
  for (const id of names) remember(id, run.places[id]);
  if (!names.includes(chosen.place)) chosen.place = names.find((id) => id.startsWith("sink ")) || names[0];
  const place = run.places[chosen.place];
  const columns = place.time.map(([name]) => name);
  if (chosen.x >= columns.length || chosen.y >= columns.length) Object.assign(chosen, { x: 0, y: 1 });
  showForm(names, place, columns, () => showOrder(run, orders, key));
  if (place.order === "poset") showPoset(place, orders[place.time[0][0]] || "");
  else if (place.order === "sum") showSum(place);
  else showProduct(run, place);
}

function showForm(names, place, columns, again) {
  const product = place.order === "product" && columns.length > 2;
  show(byId("order-form"), [names, chosen, columns, product], () => [
    select("at", names.map((id) => [id, id]), chosen.place, (value) => { chosen.place = value; again(); }),
    product && select("across", columns.map((name, i) => [i, name]), chosen.x, (value) => {
      chosen.x = Number(value);
      if (chosen.x === chosen.y) chosen.y = (chosen.x + 1) % columns.length;
      again();
    }),
    product && select("upwards", columns.map((name, i) => [i, name]), chosen.y, (value) => {
      chosen.y = Number(value);
      if (chosen.x === chosen.y) chosen.x = (chosen.y + 1) % columns.length;
      again();
    }),
  ]);
}

function select(label, options, value, change) {
  const found = el("select", { on: { change: (event) => change(event.target.value) } }, options.map(([key, text]) => el("option", { value: key }, text)));
  found.value = String(value);
  return el("label", {}, `${label} `, found);
}

// Keep the last frontiers of a box. They are drawn as a fading trail.
function remember(id, place) {
  if (place.order !== "product") return;
  const trail = trails.get(id) || [];
  const text = JSON.stringify(place.elements);
  if (trail.length && trail[trail.length - 1].text === text) return;
  trails.set(id, [...trail, { text, elements: place.elements }].slice(-TRAIL - 1));
}

// ---- products ----

function showProduct(run, place) {
  const { x, y } = chosen;
  const types = [place.time[x][1], place.time[y][1]];
  const question = currentQuestion();
  const point = question && chosen.place === `sink ${question.sink}` ? [question.time[x], question.time[y]] : null;
  WIDTH = Math.max(300, Math.min(720, byId("order-plot").clientWidth || 560));
  HEIGHT = Math.round(Math.min(430, 110 + WIDTH * 0.5));
  const key = [WIDTH, chosen, place.elements, place.boxes, point, trails.get(chosen.place)?.length];
  show(byId("order-plot"), key, () => [plot(run, place, types, point)]);
  const more = place.time.length > 2 ? " Times with other values in the columns that are not drawn are complete where all of them are." : "";
  byId("order-text").textContent = plain(place.complete
    ? "Everything is complete."
    : `Rows may still come at or above ${place.frontier}: to the right of and above each corner. All below the stairs is complete.${place.boxes?.length ? " Dashed: where the times of held rows lie." : ""}${more}`);
}

function plot(run, place, types, point) {
  const { x: across, y: up } = chosen;
  const pairs = (elements) => elements.map((e) => [e[across], e[up]]).filter((pair) => pair.every((c) => c.bound !== "TOP"));
  const now = minimal(pairs(place.elements));
  const trail = (trails.get(chosen.place) || []).slice(0, -1).map((old) => minimal(pairs(old.elements)));
  const boxes = (place.boxes || []).map(([first, last]) => [[first[across], first[up]], [last[across], last[up]]]);
  const known = point && point.map((text, i) => unitsOf(text, types[i]));
  const all = [...now, ...trail.flat()];
  const spans = [0, 1].map((i) => spanOf([
    ...all.map((pair) => pair[i].at), ...boxes.flatMap((box) => [box[0][i], box[1][i]]), known?.[i],
  ].filter((n) => Number.isFinite(n)), types[i]));
  const scale = [
    (n) => LEFT + ((n - spans[0][0]) / (spans[0][1] - spans[0][0])) * (WIDTH - LEFT - RIGHT),
    (n) => HEIGHT - BOTTOM - ((n - spans[1][0]) / (spans[1][1] - spans[1][0])) * (HEIGHT - BOTTOM - TOP),
  ];
  const toPixels = ([a, b]) => [a.bound ? LEFT : scale[0](a.at), b.bound ? HEIGHT - BOTTOM : scale[1](b.at)];
  const drawn = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img",
    "aria-label": `${place.time[across][0]} and ${place.time[up][0]}: ${place.complete ? "everything is complete" : `not complete from ${place.frontier}`}`,
  });
  drawn.append(svg("rect", { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM, class: "is-complete" }));
  drawn.append(...ticks(spans, scale, types, place, across, up));
  trail.forEach((old, i) => old.length && drawn.append(svg("path", { d: stairs(old.map(toPixels)), class: "trail", opacity: (0.15 + (0.5 * (i + 1)) / trail.length).toFixed(2) })));
  if (now.length) {
    const line = stairs(now.map(toPixels));
    drawn.append(svg("path", { d: `${line}V${TOP}Z`, class: "still-open" }), svg("path", { d: line, class: "stairs" }));
  }
  for (const [first, last] of boxes) {
    const [x1, y1, x2, y2] = [scale[0](first[0]), scale[1](first[1]), scale[0](last[0]), scale[1](last[1])];
    drawn.append(svg("rect", { x: x1 - 3, y: y2 - 3, width: x2 - x1 + 6, height: y1 - y2 + 6, class: "held-times" }));
  }
  const labels = [];
  for (const pair of now) drawn.append(...corner(pair, toPixels(pair), labels));
  if (known?.every(Number.isFinite)) {
    const [px, py] = [scale[0](known[0]), scale[1](known[1])];
    drawn.append(svg("path", { d: `M${px - 6},${py - 6}l12,12m0,-12l-12,12`, class: "asked-for" }),
      svg("text", { x: px + 10, y: py + 4, class: "asked-text" }, `asked: (${point.join(", ")})`));
  }
  drawn.append(svg("text", { x: LEFT + 10, y: HEIGHT - BOTTOM - 10, class: "region below" }, "complete"));
  if (now.length) drawn.append(svg("text", { x: WIDTH - RIGHT - 10, y: TOP + 18, class: "region", "text-anchor": "end" }, "may still come"));
  return drawn;
}

// Return the least of some pairs. With two of several columns, elements of a frontier may be above others.
function minimal(pairs) {
  const le = (a, b) => a.bound === "BOTTOM" || (!b.bound && a.at <= b.at);
  const below = (p, q) => le(p[0], q[0]) && le(p[1], q[1]);
  const same = (p, q) => below(p, q) && below(q, p);
  return pairs.filter((p, i) => !pairs.some((q, j) => below(q, p) && (!same(q, p) || j < i)))
    .sort((p, q) => (p[0].bound ? -Infinity : p[0].at) - (q[0].bound ? -Infinity : q[0].at));
}

function stairs(corners) {
  const [[x], ...rest] = corners;
  let d = `M${x.toFixed(1)},${TOP}V${corners[0][1].toFixed(1)}`;
  for (const [cx, cy] of rest) d += `H${cx.toFixed(1)}V${cy.toFixed(1)}`;
  return `${d}H${WIDTH - RIGHT}`;
}

function corner(pair, [px, py], labels) {
  const text = `(${pair.map((c) => (c.bound ? "any" : short(c.text))).join(", ")})`;
  const dot = svg("circle", { cx: px, cy: py, r: 4.5, class: "corner" }, svg("title", {}, text));
  const right = px > WIDTH - 180;
  const top = py + 16 > HEIGHT - BOTTOM - 4 ? py - 8 : py + 16;
  // Leave out a text that would overlap another. The line below the plot has them all.
  if (labels.some(([x, y]) => Math.abs(y - top) < 14 && Math.abs(x - px) < 170)) return [dot];
  labels.push([px, top]);
  return [dot, svg("text", { x: right ? px - 8 : px + 8, y: top, "text-anchor": right ? "end" : "start", class: "corner-text" }, text)];
}

function ticks(spans, scale, types, place, across, up) {
  const found = [];
  spans.forEach((span, i) => {
    for (const n of tickValues(span, types[i])) {
      const at = scale[i](n);
      const text = label(n, types[i], span);
      if (i === 0) {
        found.push(svg("line", { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
          svg("text", { x: Math.min(at, WIDTH - text.length * 3.1), y: HEIGHT - BOTTOM + 15, class: "tick", "text-anchor": "middle" }, text));
      } else {
        found.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at, class: "grid" }),
          svg("text", { x: LEFT - 6, y: at + 4, class: "tick", "text-anchor": "end" }, text));
      }
    }
  });
  found.push(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, class: "axis-name", "text-anchor": "end" }, `${place.time[across][0]} →`),
    svg("text", { x: 6, y: 13, class: "axis-name" }, `↑ ${place.time[up][0]}`));
  return found;
}

const UNIT = { day: 86400e6, hour: 3600e6, minute: 60e6, second: 1e6 };
const STEPS = [1, 1e3, 1e6, 5e6, 15e6, 60e6, 300e6, 900e6, 3600e6, 4 * 3600e6, 12 * 3600e6, UNIT.day, 7 * UNIT.day, 30 * UNIT.day, 365 * UNIT.day, 3650 * UNIT.day];

function spanOf(numbers, type) {
  const unit = type.startsWith("TIMESTAMP") ? 60e6 : 1;
  if (!numbers.length) return [0, unit * 10];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const pad = Math.max((high - low) * 0.25, unit * 2);
  return [low - pad, high + pad];
}

function tickValues([low, high], type) {
  const wanted = (high - low) / 5;
  let step;
  if (type.startsWith("TIMESTAMP")) step = STEPS.find((s) => s >= wanted) || STEPS[STEPS.length - 1];
  else {
    const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
    step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= wanted) || power * 10;
  }
  const found = [];
  for (let n = Math.ceil(low / step) * step; n <= high && found.length < 12; n += step) found.push(n);
  return found;
}

function label(n, type, [low, high]) {
  const text = time(n, type);
  if (!type.startsWith("TIMESTAMP")) return text;
  const [day, hour] = text.split(" ");
  return high - low < UNIT.day ? short(hour) : hour.startsWith("00:00:00") || high - low > 7 * UNIT.day ? day : short(`${day.slice(5)} ${hour}`);
}

function unitsOf(text, type) {
  if (type.startsWith("TIMESTAMP")) return Date.parse(`${text.trim().replace(" ", "T")}${/Z|[+-]\d\d:?\d\d$/.test(text) ? "" : "Z"}`) * 1000;
  if (type === "DATE") return Date.parse(`${text.trim()}T00:00:00Z`) / 86400000;
  return Number(text);
}

// ---- other orders ----

function showPoset(place, text) {
  const open = new Set(place.open), least = new Set(place.least);
  show(byId("order-plot"), [place.open, place.least, text.length], () => {
    const drawn = text && picture(text);
    if (!drawn) {
      return [el("ul", { class: "elements" }, place.elements.map((x) => el("li", { class: least.has(x) ? "least" : open.has(x) ? "open" : "done" }, x, ` — ${least.has(x) ? "may come next" : open.has(x) ? "open" : "complete"}`)))];
    }
    drawn.classList.add("hasse");
    for (const box of drawn.querySelectorAll("g.box[data-id]")) {
      const x = box.getAttribute("data-id");
      box.classList.add(least.has(x) ? "is-least" : open.has(x) ? "is-open" : "is-done");
    }
    return [drawn];
  });
  byId("order-text").textContent = plain(place.complete ? "Everything is complete."
    : `Greater elements are further down. Filled: complete. Thick border: the least that may still come, ${place.frontier}.`);
}

function showSum(place) {
  show(byId("order-plot"), [place.frontier], () => [el("ul", { class: "elements" }, place.frontier.split(" or ").map((text) => el("li", { class: "least" }, text)))]);
  byId("order-text").textContent = "Two sides that are never compared: the least times of each that may still come.";
}
