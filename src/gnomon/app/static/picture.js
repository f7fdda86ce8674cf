// Small pictures: shapes with a sentence for those who hear the page.
import { h, svg } from "./dom.js";

export function sundial() {
  const ticks = Array.from({ length: 9 }, (_, k) => (Math.PI * k) / 8).map((a) =>
    svg("line", { x1: 32 + 24 * Math.cos(a), y1: 52 - 24 * Math.sin(a), x2: 32 + 29 * Math.cos(a), y2: 52 - 29 * Math.sin(a) }));
  return svg("svg", { class: "mark", viewBox: "0 0 64 60", "aria-hidden": "true" },
    svg("path", { class: "arc", d: "M3 52a29 29 0 0 1 58 0" }), ticks,
    svg("path", { class: "shade", d: "M32 52 56 35 38 52z" }), svg("path", { class: "gnomon", d: "M32 14 38 52H26z" }));
}

// Of a hundred guesses: those a coin gets right, those the release adds at most, and the rest.
export function guesses(right) {
  const gained = Math.min(50, Math.ceil(100 * right - 1e-9) - 50);
  const dots = Array.from({ length: 100 }, (_, i) => {
    const kind = i < 50 ? "coin" : i < 50 + gained ? "gained" : "wrong";
    const x = 7 + 14 * (i % 20);
    const y = 7 + 14 * Math.floor(i / 20);
    return kind === "wrong"
      ? svg("circle", { class: kind, cx: x, cy: y, r: 4.2 })
      : svg("circle", { class: kind, cx: x, cy: y, r: 5 });
  });
  return svg("svg", { class: "guesses", viewBox: "0 0 280 70", role: "img",
    "aria-label": `Of 100 guesses, a coin gets 50 right; with this release nobody gets more than ${50 + gained} right.` }, dots);
}

// Shares of a whole, in order: [class, share, words].
export function stacked(parts, words) {
  let x = 0;
  const bars = parts.filter(([, share]) => share > 0).map(([kind, share]) => {
    const made = svg("rect", { class: kind, x: x * 100, y: 0, width: Math.max(0, Math.min(share, 1 - x)) * 100, height: 10 });
    x += share;
    return made;
  });
  return h("div", { class: "stacked" },
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": words },
      svg("rect", { class: "track", width: 100, height: 10 }), bars));
}

export function bar(share, words) {
  const made = h("progress", { max: 1, "aria-label": words });
  if (share !== null) made.value = share;
  return made;
}

// An estimate and its interval on a common scale; the numbers stand beside it.
export function interval({ value, low, high, error }, least, most) {
  const at = (x) => 1 + (98 * (Math.min(most, Math.max(least, x)) - least)) / (most - least || 1);
  const zero = at(0);
  const top = typeof high === "number" ? at(high) : 99;
  return svg("svg", { class: "interval", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "amount", x: Math.min(zero, at(value)), y: 2, width: Math.abs(at(value) - zero), height: 8 }),
    error === null ? null : [svg("line", { x1: at(low), x2: top, y1: 6, y2: 6 }), [at(low), top].map((x) => svg("line", { x1: x, x2: x, y1: 3, y2: 9 }))]);
}
