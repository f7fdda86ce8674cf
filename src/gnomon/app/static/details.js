// All that can be said of columns, for one or for many at once: what is left as it is, is not changed.
import { ask, choice, field, h, plural } from "./dom.js";
import { change, store } from "./store.js";

export const KINDS = [
  ["number", "number"], ["category", "category"], ["boolean", "true or false"], ["date", "date"],
  ["identifier", "identifier (not released)"], ["ignored", "left out"],
];
export const MISSING = [["", "as the default says"], ["refuse", "none are expected"], ["fill", "filled with a value"], ["indicator", "kept as missing"]];
const TAKES = {
  number: ["low", "high", "estimate", "integer", "log", "unit", "atoms", "missing", "fill", "missing_values"],
  category: ["values", "ordered", "other", "unit", "missing", "fill", "missing_values"],
  boolean: ["true", "false", "missing", "fill", "missing_values"],
  date: ["low", "high", "date_format", "missing", "fill", "missing_values"],
  identifier: [], ignored: [],
};
const WORDS = {
  low: ["Lowest that could occur", "From public knowledge: a norm, a code book, common sense. Cells below are raised to it."],
  high: ["Highest that could occur", "Cells above are lowered to it."],
  estimate: ["Nobody knows the bounds: pay for a private estimate", "A part of the budget finds them."],
  integer: ["Whole numbers only"],
  log: ["Few are much larger than most (log scale)"],
  unit: ["Unit"],
  atoms: ["Values that many rows share", "Apart by |, as in 0|999"],
  values: ["Every category that could occur", "One a line."],
  ordered: ["The categories have an order"],
  other: ["The category that takes the rest"],
  missing: ["Missing cells"],
  fill: ["Filled with", "A value that the column declares."],
  missing_values: ["Codes that mean missing", "Apart by |, as in -9|NA"],
  true: ["Words for true", "Apart by |"],
  false: ["Words for false", "Apart by |"],
  date_format: ["How dates are written", "As in %d.%m.%Y; empty for 2020-12-31."],
  label: ["Label"],
};
const FLAGS = ["estimate", "integer", "log", "ordered"];
const LISTS = ["atoms", "missing_values", "true", "false"];
const MIXED = "(differ)";

const asText = (key, value) => (value === undefined ? "" : Array.isArray(value) ? value.join(key === "values" ? "\n" : "|") : String(value));

// Edit columns; `pattern` edits what a pattern says of all columns that it fits.
export async function editColumns(names, pattern = null) {
  const rows = names.map((name) => store.columns.get(name)).filter(Boolean);
  if (!rows.length) return;
  const shared = (key) => {
    const found = new Set(rows.map((row) => JSON.stringify(row.keys[key] ?? null)));
    return found.size === 1 ? rows[0].keys[key] : MIXED;
  };
  const kind = shared("kind");
  const first = choice([...(kind === MIXED || kind === undefined ? [["", kind === MIXED ? "they differ" : "not declared: never read"]] : []), ...KINDS], kind === MIXED ? "" : kind ?? "");
  const body = h("div", { class: "details" });
  const controls = new Map();

  function control(key) {
    const value = shared(key);
    const mixed = value === MIXED;
    const [words, note] = WORDS[key];
    let made;
    if (FLAGS.includes(key)) {
      made = h("input", { type: "checkbox", checked: value === true });
      made.indeterminate = mixed;
      controls.set(key, { read: () => made.checked, touched: false });
      made.addEventListener("change", () => { controls.get(key).touched = true; });
      const id = `k-${key}`;
      made.id = id;
      return h("div", { class: "field flag" }, made, h("label", { for: id }, words), note ? h("p", { class: "note" }, note) : null);
    }
    if (key === "missing") {
      made = choice(mixed ? [[MIXED, "they differ"], ...MISSING] : MISSING, mixed ? MIXED : value ?? "");
      made.addEventListener("change", () => toggle());
    } else if (key === "values") {
      made = h("textarea", { rows: Math.min(8, Math.max(3, (Array.isArray(value) ? value.length : 0) + 1)), spellcheck: "false", class: "mono", placeholder: mixed ? "They differ; what you write here replaces all of them." : "" });
      made.value = mixed ? "" : asText(key, value);
    } else {
      const hint = rows.length === 1 ? rows[0].hint?.[key] : undefined;
      made = h("input", { type: "text", spellcheck: "false", autocomplete: "off", value: mixed ? "" : asText(key, value), placeholder: mixed ? "they differ" : hint ? `suggested by the name: ${hint}` : "" });
    }
    controls.set(key, {
      read: () => {
        if (key === "values") return made.value.split("\n").map((one) => one.trim()).filter(Boolean);
        if (LISTS.includes(key)) return made.value.split("|").map((one) => one.trim()).filter(Boolean);
        return made.value.trim() || null;
      },
      touched: false,
    });
    made.addEventListener("input", () => { controls.get(key).touched = true; });
    made.addEventListener("change", () => { controls.get(key).touched = true; });
    const shownField = field(words, made, note);
    shownField.dataset.key = key;
    return shownField;
  }

  function toggle() {
    const missing = controls.get("missing")?.read();
    const fill = body.querySelector('[data-key="fill"]');
    if (fill) fill.hidden = missing !== "fill";
  }

  function draw() {
    controls.clear();
    body.replaceChildren();
    const keys = TAKES[first.value] ?? [];
    keys.forEach((key) => body.append(control(key)));
    if (first.value) body.append(control("label"));
    const role = rows.length === 1 && keys.length ? h("input", { type: "checkbox", id: "k-role", checked: rows[0].keys.role === "target" }) : null;
    if (role) {
      controls.set("role", { read: () => (role.checked ? "target" : null), touched: false });
      role.addEventListener("change", () => { controls.get("role").touched = true; });
      body.append(h("div", { class: "field flag" }, role, h("label", { for: "k-role" }, "The target: what models will learn to predict")));
    }
    toggle();
  }
  first.addEventListener("change", draw);
  draw();
  const one = rows.length === 1;
  const title = pattern ? `All columns ${pattern}` : one ? names[0] : plural(rows.length, "column");
  const by = one && rows[0].by && rows[0].by !== names[0] ? `Declared by the pattern ${rows[0].by}; what you change here becomes its own.` : null;
  await ask(title, [
    one && rows[0].problem ? h("p", { class: "problem" }, rows[0].problem) : null,
    by ? h("p", { class: "note" }, by) : null,
    field("Kind", first), body,
  ], [
    { words: "Cancel", act: () => null },
    { words: "Keep", main: true, act: async () => {
      const set = {};
      if (first.value && (first.value !== kind || pattern)) set.kind = first.value;
      for (const [key, { read, touched }] of controls) if (touched) set[key] = read() === MIXED ? undefined : read();
      Object.keys(set).forEach((key) => set[key] === undefined && delete set[key]);
      if (Object.keys(set).length) {
        if (pattern) await change("pattern", { pattern, set });
        else await change("edit", { changes: [{ names, set }] });
      }
      return true;
    } },
  ]);
}
