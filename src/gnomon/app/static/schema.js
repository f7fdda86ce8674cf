// Step 2: what everyone may know. A grid for hundreds of columns, which never shows a private cell.
import { call, follow } from "./api.js";
import { choosePath } from "./chooser.js";
import { editColumns, KINDS, MISSING } from "./details.js";
import { alertBox, ask, become, button, field, h, plural, renew, say } from "./dom.js";
import { factsPanel } from "./facts.js";
import { Grid, smallButton } from "./grid.js";
import { bar } from "./picture.js";
import { change, rows, store, tried, watch } from "./store.js";

const released = (row) => !["identifier", "ignored", undefined].includes(row.keys.kind);
const bounded = (row) => ["number", "date"].includes(row.keys.kind);
const kindWords = Object.fromEntries(KINDS);
const missingWords = { refuse: "none", fill: "filled", indicator: "kept" };

const COLUMNS = [
  { key: "name", title: "Column", text: (row) => row.name, show: (row) => [
    h("span", { class: "name" }, row.name),
    h("span", { class: "sub" }, summary(row)),
    row.by && row.by !== row.name ? h("span", { class: "by", title: "declared by this pattern" }, row.by) : null] },
  { key: "kind", title: "Kind", text: (row) => row.keys.kind ?? "", show: (row) => row.keys.kind ? `${row.keys.integer ? "whole " : ""}${kindWords[row.keys.kind].replace(" (not released)", "")}` : h("span", { class: "ghost" }, "not declared"),
    options: () => KINDS, value: (row) => row.keys.kind ?? "", editable: () => true },
  { key: "low", title: "Low", text: (row) => String(row.keys.low ?? ""), empty: (row) => (row.keys.estimate ? "estimated" : row.hint?.low ? `${row.hint.low}?` : ""), editable: bounded },
  { key: "high", title: "High", text: (row) => String(row.keys.high ?? ""), empty: (row) => (row.keys.estimate ? "estimated" : row.hint?.high ? `${row.hint.high}?` : ""), editable: bounded },
  { key: "values", title: "Categories", text: (row) => (row.keys.values ?? []).join(" | "), empty: (row) => row.keys.values_file ?? "", editable: (row) => row.keys.kind === "category" },
  { key: "missing", title: "Missing", text: (row) => row.keys.missing ?? "", show: (row) => missingWords[row.keys.missing] ?? (released(row) ? h("span", { class: "ghost" }, store.project.defaults.missing === "indicator" ? "kept" : "none") : ""),
    options: () => MISSING, value: (row) => row.keys.missing ?? "", editable: released },
  { key: "role", title: "Role", text: (row) => (row.keys.role ?? (row.name === store.project.table.person ? "person" : "")), show: (row) => role(row),
    options: (row) => [["", released(row) ? "feature" : "none"], ...(released(row) ? [["target", "target"]] : []), ...(row.keys.kind === "identifier" ? [["person", "tells people apart"]] : [])],
    value: (row) => row.keys.role ?? (row.name === store.project.table.person ? "person" : ""), editable: (row) => released(row) || row.keys.kind === "identifier" },
  { key: "state", title: "State", text: (row) => row.problem ?? "", show: (row) => state(row) },
];

function role(row) {
  if (row.keys.role === "target") return h("span", { class: "chip sun" }, "target");
  if (row.name === store.project.table.person) return h("span", { class: "chip" }, "person");
  return "";
}

function state(row) {
  if (row.problem) return h("span", { class: "todo", title: row.problem }, row.problem.replace(`The column '${row.by}' `, "").split(";")[0]);
  if (!row.by) return h("span", { class: "ghost" }, "never read");
  return released(row) ? h("span", { class: "fine" }, "complete") : h("span", { class: "ghost" }, "not released");
}

function summary(row) {
  const { kind, low, high, values, estimate } = row.keys;
  if (!kind) return "not declared";
  const what = estimate ? "estimated" : low !== undefined || high !== undefined ? `${low ?? "?"} to ${high ?? "?"}` : values ? values.join(", ") : "";
  return [kindWords[kind].replace(" (not released)", ""), what].filter(Boolean).join(": ");
}

const fits = (text) => {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return () => true;
  if (!wanted.includes("*")) return (name) => name.toLowerCase().includes(wanted);
  const escaped = wanted.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
  const pattern = new RegExp(`^${escaped}$`);
  return (name) => pattern.test(name.toLowerCase());
};

const FILTERS = [
  ["all", "All", () => true],
  ["gaps", "To be completed", (row) => row.problem !== null],
  ["released", "Released", (row) => released(row)],
  ["number", "Numbers", (row) => row.keys.kind === "number"],
  ["category", "Categories", (row) => row.keys.kind === "category"],
  ["date", "Dates", (row) => row.keys.kind === "date"],
  ["out", "Left out", (row) => !released(row)],
];

export async function schemaView(main) {
  let filter = "all";
  const search = h("input", { type: "search", placeholder: "Search, or a pattern: lab_*", autocomplete: "off", "aria-label": "Search columns" });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Show" });
  const bulk = h("div", { class: "bulk" });
  const gaps = h("div", { class: "gaps" });
  const fill = h("div", { class: "tools", role: "group", "aria-label": "Fill in" });
  const tools = h("div", { class: "tools", role: "group", "aria-label": "The file" });
  const general = h("div", {});
  const next = h("p", { class: "next" });
  const grid = new Grid({
    columns: COLUMNS,
    label: "Columns of the table and what is declared of them",
    edit: (names, set) => tried(() => edit(names, set)),
    open: (row) => editColumns(grid.chosen.has(row.name) && grid.chosen.size > 1 ? grid.names() : [row.name]),
    paste: (text, at) => tried(() => paste(text, at)),
    undo: (again) => undo(again),
    selected: () => drawBulk(),
  });

  async function edit(names, set) {
    if ("role" in set && set.role === "person") return change("person", { name: names[0], rows: store.project.table.rows_per_person ?? 1 });
    if ("role" in set && store.project.table.person === names[0]) return change("person", { name: null });
    if (set.values) set = { values: set.values.split("|").map((one) => one.trim()).filter(Boolean) };
    return change("edit", { changes: [{ names, set }] });
  }

  async function undo(again) {
    if (await tried(() => change(again ? "redo" : "undo", {}))) say(again ? "Done again." : "Undone.");
  }

  // A block of cells goes where the cursor stands; a table with a header goes to the columns that it names.
  async function paste(text, at) {
    const lines = text.replace(/\r/g, "").replace(/\n+$/, "").split("\n").map((line) => line.split("\t"));
    if (lines.length > 1 && lines[0].some((one) => /^(name|variable|column|field|variable_name)$/i.test(one.trim()))) {
      return told(await change("paste", { text }));
    }
    const keys = COLUMNS.map((one) => one.key);
    const changes = [];
    let skipped = 0;
    lines.forEach((cells, i) => {
      const row = grid.rows[at.row + i];
      if (!row) return;
      const set = {};
      cells.forEach((cell, j) => {
        const key = keys[at.column + j];
        const value = cell.trim();
        if (!value || !["kind", "low", "high", "values", "missing"].includes(key)) return;
        set[key] = key === "values" ? value.split(/[|;,]/).map((one) => one.trim()).filter(Boolean) : key === "kind" ? kindOf(value) : value;
      });
      const kind = set.kind ?? row.keys.kind;
      if (kind !== "category" && "values" in set) { delete set.values; skipped += 1; }
      if (!["number", "date"].includes(kind) && ("low" in set || "high" in set)) { delete set.low; delete set.high; skipped += 1; }
      if (Object.keys(set).length) changes.push({ names: [row.name], set });
    });
    if (!changes.length) throw new Error("Nothing in what was pasted fits here; move to a cell of Low, High or Categories, or paste a table with a header.");
    await change("edit", { changes });
    say(`${plural(changes.length, "column")} filled in${skipped ? `; ${plural(skipped, "cell")} did not fit the kind` : ""}.`);
  }

  function told(found) {
    const lost = found.unknown?.length ? ` ${plural(found.unknown.length, "name")} in it ${found.unknown.length === 1 ? "is" : "are"} not in the table: ${found.unknown.slice(0, 3).join(", ")}${found.unknown.length > 3 ? ", …" : ""}.` : "";
    say(`${plural(found.filled.length, "column")} filled in.${lost}`);
    return found;
  }

  async function fromFile(action, purpose, title) {
    const path = await choosePath({ purpose, title, start: store.project.schema_path });
    if (path !== null) await tried(async () => told(await change(action, { path })));
  }

  async function pasteDialog() {
    const text = h("textarea", { rows: "10", class: "mono", spellcheck: "false", placeholder: "name\tkind\tlow\thigh\tvalues\nage\tinteger\t0\t120\t\nward\tcategory\t\t\tnorth|south" });
    await ask("Paste from a spreadsheet", [
      h("p", {}, "Copy a table from a spreadsheet with a header and a line per column. The header may have name, kind, low, high, values, label, missing, unit and role; type, min and max are understood too."),
      field("Table", text)], [
      { words: "Cancel", act: () => null },
      { words: "Fill in", main: true, act: async () => { told(await change("paste", { text: text.value })); return true; } }], { class: "wide" });
  }

  async function patternDialog() {
    const text = h("input", { type: "text", class: "mono", spellcheck: "false", autocomplete: "off", value: search.value.includes("*") ? search.value : stem(grid.names()) });
    const count = h("p", { class: "note", "aria-live": "polite" });
    const tell = () => become(count, text.value.includes("*") ? `It fits ${plural(store.order.filter(fits(text.value)).length, "column")}.` : "Write a star for any text, as in lab_*.");
    text.addEventListener("input", tell);
    tell();
    const pattern = await ask("One declaration for many columns", [
      h("p", {}, "A pattern serves all columns that it fits: a star stands for any text. A column with a declaration of its own keeps that one only if it is the target."),
      field("Pattern", text), count], [
      { words: "Cancel", act: () => null },
      { words: "Go on", main: true, act: () => {
        if (!text.value.includes("*") || !store.order.some(fits(text.value))) throw new Error("The pattern must hold a star and fit a column.");
        return text.value.trim();
      } }]);
    if (pattern) await editColumns(store.order.filter((name) => matchesCase(pattern)(name)), pattern);
  }

  async function showText() {
    const { text, path } = await call("schema_text", { id: store.project.id });
    await ask("schema.toml", [h("p", { class: "note mono" }, path), h("pre", { tabindex: "0", class: "code" }, text)], [{ words: "Close", main: true, act: () => true }], { class: "wide" });
  }

  async function check() {
    const result = h("div", { class: "check" }, h("p", { class: "wait" }, "Reading the rows…"));
    let open = true;
    const done = ask("Do the cells fit?", result, [{ words: "Close", main: true, act: () => true }], { class: "wide" }).then(() => { open = false; });
    try {
      const job = await call("check", { id: store.project.id });
      const last = await follow(job, (now) => {
        const stage = now.stages.at(-1);
        if (now.state === "running") become(result, h("p", {}, "Reading the rows…"), bar(stage?.share ?? null, "Progress"));
      }, () => open);
      if (!open) return call("stop", { id: job.id }).catch(() => {});
      become(result, last.error ? alertBox("bad", last.error) : checked(last.result));
    } catch (problem) {
      become(result, alertBox("bad", problem.message));
    }
    await done;
  }

  function drawBulk() {
    const count = grid.chosen.size;
    const names = () => grid.names();
    renew(bulk, count ? [
      h("strong", {}, `${count.toLocaleString("en")} selected`),
      smallButton("Edit…", () => editColumns(names()), { class: "small main" }),
      smallButton("Use suggestions", () => tried(async () => say(`${plural((await change("suggest", { names: names() })).filled.length, "column")} got bounds by name.`))),
      smallButton("Leave out", () => tried(() => change("edit", { changes: [{ names: names(), set: { kind: "ignored" } }] }))),
      smallButton("Clear selection", () => { grid.chosen.clear(); grid.draw(); drawBulk(); })] : h("span", { class: "note" }, "A tick or Space selects columns, Enter edits, a paste fills cells."));
  }

  function jump() {
    const list = grid.rows;
    const from = grid.active.row;
    const order = [...list.keys()].map((i) => (from + 1 + i) % list.length);
    const to = order.find((i) => list[i].problem);
    if (to === undefined) return;
    grid.go(to, { number: 2, date: 2, category: 4 }[list[to].keys.kind] ?? 0);
  }

  function draw() {
    const all = rows();
    const wanted = fits(search.value);
    const chosen = FILTERS.find(([key]) => key === filter)[2];
    const named = all.filter((row) => wanted(row.name));
    grid.show(named.filter(chosen));
    const { gaps: open, can_undo: back, can_redo: forth } = store.project;
    renew(chips, FILTERS.map(([key, words, keep]) => {
      const count = named.filter(keep).length;
      return count || key === filter || key === "all" ? button(`${words} ${count.toLocaleString("en")}`, () => { filter = key; draw(); }, { class: "chip", "aria-pressed": String(key === filter) }) : null;
    }));
    renew(gaps, open
      ? [h("span", {}, h("strong", {}, plural(open, "column")), " to be completed"), smallButton("Next gap", () => { if (!grid.rows.some((row) => row.problem)) { filter = "gaps"; search.value = ""; draw(); } jump(); })]
      : store.project.general.length ? null : h("span", { class: "fine" }, "Nothing is left open."));
    become(general, store.project.general.map((one) => alertBox("bad", one)),
      store.project.absent.length ? alertBox("warn", `${plural(store.project.absent.length, "declaration")} without a column in the table: ${store.project.absent.slice(0, 5).join(", ")}. `, smallButton("Remove", () => tried(() => change("remove", { names: store.project.absent })))) : null);
    const ready = !open && !store.project.general.length;
    renew(fill,
      h("span", { class: "note" }, "Fill in from"),
      smallButton("Codebook…", () => fromFile("codebook", "codebook", "A codebook: CSV, Frictionless, SDV or Croissant")),
      smallButton("Public table…", () => fromFile("public_table", "table", "A table that needs no protection")),
      smallButton("Paste…", pasteDialog),
      smallButton("Pattern…", patternDialog),
      smallButton("All suggestions", () => tried(async () => say(`${plural((await change("suggest", { names: store.order })).filled.length, "column")} got bounds by name. Read them: they are suggestions.`))));
    renew(tools,
      smallButton("Undo", () => undo(false), { disabled: !back }),
      smallButton("Redo", () => undo(true), { disabled: !forth }),
      smallButton("schema.toml", () => tried(showText)),
      smallButton("Check cells…", () => tried(check)));
    become(next, ready
      ? h("a", { class: "button main", href: `#/p/${store.project.id}/budget` }, "Choose a budget →")
      : h("span", { class: "note" }, "Complete these to go on. What is not needed can be left out."));
  }

  search.addEventListener("input", draw);
  const facts = h("div", {}, factsPanel());
  become(main,
    h("h1", {}, "What may everyone know?"),
    h("p", { class: "lead" }, "Say for each column which values could occur, from public knowledge: a code book, a norm, common sense."),
    h("details", { class: "why" }, h("summary", {}, "No cell of your table is shown here, on purpose. Why?"),
      h("p", {}, "Everything in this schema is published. If the highest age here were the highest age in your table, the schema itself would tell on the oldest person. Bounds that are too wide cost accuracy, and bounds that are too tight clip cells; neither costs privacy. “Check cells” counts what does not fit, for your eyes only.")),
    facts,
    h("section", { class: "sheet", "aria-label": "Columns" },
      h("div", { class: "bar" }, search, chips),
      h("div", { class: "bar" }, fill, tools),
      general, h("div", { class: "bar under" }, gaps, bulk), grid.root),
    h("p", { class: "note" }, `Every change is written to ${store.project.schema_path} at once.`),
    next);
  drawBulk();
  draw();
  const stop = watch(draw);
  return stop;
}

const matchesCase = (pattern) => {
  const escaped = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^]*");
  const exact = new RegExp(`^${escaped}$`);
  return (name) => exact.test(name);
};

function stem(names) {
  if (names.length < 2) return "*";
  let start = names[0];
  for (const name of names) while (!name.startsWith(start)) start = start.slice(0, -1);
  return `${start}*`;
}

function kindOf(text) {
  const word = text.toLowerCase();
  const found = { float: "number", integer: "number", int: "number", numeric: "number", real: "number", string: "category", text: "category", factor: "category", nominal: "category", bool: "boolean", binary: "boolean", datetime: "date", timestamp: "date", id: "identifier", key: "identifier", "left out": "ignored", ignore: "ignored", "true or false": "boolean", "whole number": "number" };
  return found[word] ?? word;
}

function checked(found) {
  const heads = [["missing", "missing"], ["out_of_bounds", "out of bounds"], ["unknown", "not declared"], ["alien", "wrong type"]];
  return [
    h("p", { class: "stamp" }, found.stamp),
    found.ok ? h("p", { class: "fine" }, "The table fits its schema: a strict release would accept it, and clips cells out of bounds.") : h("p", {}, "A release clips cells out of bounds and makes valid cells of the others by the schema's policy; a strict one refuses them."),
    found.columns.length ? h("div", { class: "scroller", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "column"), heads.map(([, words]) => h("th", { scope: "col", class: "n" }, words)))),
      h("tbody", {}, found.columns.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name), heads.map(([key]) => h("td", { class: "n" }, one[key] ? one[key].toLocaleString("en") : "–"))))))) : null,
    found.plain ? h("p", { class: "note" }, `${plural(found.plain, "column")} without any remark.`) : null,
    found.gaps ? h("p", { class: "note" }, `${plural(found.gaps, "declaration")} to be completed; the cells of these are not checked yet.`) : null,
    [...found.problems, ...found.remarks].map((one) => h("p", {}, one)),
    found.undeclared.length ? h("p", { class: "note" }, `Not in the schema, and never read: ${found.undeclared.join(", ")}.`) : null,
  ];
}
