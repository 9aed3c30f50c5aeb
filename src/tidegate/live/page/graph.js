// The graph of the flow. The server draws it; this file adds to each box how far it is complete.

import { picture, plain, svg } from "./dom.js";
import { count, short } from "./format.js";

const LONGEST = 44;
let boxes = new Map();
let marked = new Map();

export function drawGraph(element, text, choose) {
  boxes = new Map();
  marked = new Map();
  const drawn = text ? picture(text) : null;
  element.replaceChildren(...(drawn ? [drawn] : []));
  if (!drawn) return;
  drawn.removeAttribute("role");
  for (const box of drawn.querySelectorAll("g.box[data-id]")) {
    const id = box.getAttribute("data-id");
    boxes.set(id, box);
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", plain(id));
    box.addEventListener("click", () => choose(id));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(id);
    });
  }
  // A label may be wider than the drawing, so the view gets a margin.
  const view = drawn.viewBox.baseVal;
  drawn.setAttribute("viewBox", `${view.x - 24} ${view.y} ${view.width + 48} ${view.height + 16}`);
  drawn.removeAttribute("width");
  drawn.removeAttribute("height");
  // Show it as large as it was drawn. If the page is too narrow, make it a little smaller, and let it scroll.
  drawn.style.width = `min(100%, ${view.width}px)`;
  drawn.style.minWidth = `${Math.round(view.width * 0.72)}px`;
  document.getElementById("run").classList.toggle("wide", view.width > 800);
  element.scrollLeft = (element.scrollWidth - element.clientWidth) / 2;
}

function labelOf(place) {
  const text = place.complete ? "complete" : `from ${short(place.frontier)}`;
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  return place.rows ? `${cut} · ${count(place.rows)} held` : cut;
}

export function markGraph(element, run) {
  for (const [id, box] of boxes) {
    const place = run.places[id];
    if (!place) continue;
    const text = labelOf(place);
    if (marked.get(id)?.text === text) continue;
    marked.get(id)?.group.remove();
    const group = mark(box, text, place);
    marked.set(id, { text, group });
    const held = place.rows ? `, holds ${count(place.rows)} rows` : "";
    box.setAttribute("aria-label", plain(`${id}: ${place.complete ? "complete" : `not complete from ${place.frontier}`}${held}`));
  }
}

// Draw a label across the lower edge of a box.
function mark(box, text, place) {
  const edge = box.querySelector("rect").getBBox();
  const label = svg("text", { "text-anchor": "middle", class: "live-text" }, text);
  const ground = svg("rect", { rx: 8, height: 17, class: "live-ground" });
  const group = svg("g", { class: `live-mark${place.complete ? " complete" : ""}` }, svg("title", {}, place.frontier), ground, label);
  box.append(group);
  const width = label.getComputedTextLength() + 16;
  const middle = edge.x + edge.width / 2;
  const top = edge.y + edge.height - 7;
  label.setAttribute("x", middle);
  label.setAttribute("y", top + 12.5);
  ground.setAttribute("x", middle - width / 2);
  ground.setAttribute("y", top);
  ground.setAttribute("width", width);
  return group;
}

// Scroll a wide graph to a path, without scrolling the page.
function reveal(graph, path) {
  const edges = path.map((id) => boxes.get(id)?.getBoundingClientRect()).filter(Boolean);
  if (!edges.length) return;
  const frame = graph.getBoundingClientRect();
  const [left, right] = [Math.min(...edges.map((e) => e.left)), Math.max(...edges.map((e) => e.right))];
  if (left < frame.left || right > frame.right) graph.scrollLeft += (left + right - frame.left - frame.right) / 2;
}

// Highlight the paths that rows would take. Each path is a list of the ids of boxes.
export function highlight(paths) {
  const steps = new Set(paths.flatMap((path) => path.slice(1).map((box, i) => JSON.stringify([path[i], box]))));
  const on = new Set(paths.flat());
  const graph = document.getElementById("graph");
  if (paths.length) reveal(graph, paths[0]);
  graph.classList.toggle("asked", paths.length > 0);
  for (const [id, box] of boxes) box.classList.toggle("on", on.has(id));
  for (const link of graph.querySelectorAll("g.link")) {
    link.classList.toggle("on", steps.has(JSON.stringify([link.getAttribute("data-from"), link.getAttribute("data-to")])));
  }
}
