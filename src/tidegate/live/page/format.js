// Numbers and times as people read them.

export const count = (n) => (n === null || n === undefined ? "" : Math.round(n).toLocaleString("en-US"));

export function bytes(n) {
  if (!n) return n === 0 ? "0 B" : "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** power;
  return `${value >= 100 || !power ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

export function seconds(s) {
  if (s === null || s === undefined) return "";
  if (s < 0) return `-${seconds(-s)}`;
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 100) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 6000) return `${Math.round(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
  return `${count(s / 86400)} days`;
}

export const rate = (n) => (n >= 100 ? count(n) : n >= 10 ? n.toFixed(0) : n > 0 ? n.toFixed(1) : "0");

export function clock(at) {
  const moment = new Date(at * 1000);
  return [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}

// Return a time as text. `units` are those of the server: days for dates, microseconds for timestamps.
export function time(units, type) {
  if (type === "DATE") return new Date(units * 86400000).toISOString().slice(0, 10);
  if (type.startsWith("TIMESTAMP")) {
    const text = new Date(units / 1000).toISOString().replace("T", " ").replace("Z", "");
    return text.replace(/\.000$/, "");
  }
  return (Math.round(units) || 0).toLocaleString("en-US");
}

// Return a text with times, without their seconds where those are 0.
export function short(text) {
  return text.replace(/(\d\d:\d\d):00(\.0+)?(?=$|[,) ])/g, "$1");
}
