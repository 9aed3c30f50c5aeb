// Functions that make elements. Every value goes into the page as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// Return a text in which characters that are not printed, such as marks that reverse its direction, are codes.
export function plain(value) {
  return String(value ?? "").replace(/[\p{C}]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(plain(child)));
  }
  return element;
}

export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export const byId = (id) => document.getElementById(id);

// Replace the content of an element if `key` has changed. Otherwise leave it alone, so that focus and selection stay.
const shown = new WeakMap();
export function show(element, key, children) {
  const text = JSON.stringify(key);
  if (shown.get(element) === text) return false;
  shown.set(element, text);
  element.replaceChildren(...children().flat(Infinity).filter(Boolean));
  return true;
}

// Return an SVG from the server as elements of this page, without what could run or load something.
export function picture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return null;
  for (const unwanted of parsed.querySelectorAll("script, style, foreignObject, image, use, a")) unwanted.remove();
  return document.importNode(parsed, true);
}

export function table(element, columns, rows) {
  show(element, [columns, rows], () => [
    el("thead", {}, el("tr", {}, columns.map(([title, kind]) => el("th", { scope: "col", class: kind || "" }, title)))),
    el("tbody", {}, rows.length
      ? rows.map((row) => el("tr", {}, row.map((cell, i) => el(i ? "td" : "th", { class: columns[i][1] || "", scope: i ? null : "row" }, cell))))
      : el("tr", {}, el("td", { colspan: columns.length, class: "none" }, "none"))),
  ]);
}
