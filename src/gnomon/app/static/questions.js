// For analysts: what a release answers, with intervals, and rows drawn from its model.
import { call, follow } from "./api.js";
import { pathField } from "./chooser.js";
import { alertBox, become, button, choice, field, fresh, h } from "./dom.js";
import { bar, interval } from "./picture.js";

const NAMES = 2000; // column names that are offered while typing
const COUNTED = ["category", "boolean"];
const numbers = (text) => text.split(/[\s,;]+/).filter(Boolean).map((one) => (/^\d+$/.test(one) ? Number(one) : NaN));
const parted = (text) => text.split(/[;\n]+/).map((one) => one.trim()).filter(Boolean);
const whole = (input, what) => {
  const [value, ...more] = numbers(input.value);
  if (value === undefined || Number.isNaN(value) || more.length) throw new Error(`${what} must be a whole number.`);
  return value;
};
// as many digits as the error leaves a meaning to
const digits = (value, error) => {
  if (value === null) return "–";
  if (typeof value !== "number") return value;
  if (!(error > 0)) return value.toLocaleString("en", { maximumSignificantDigits: 5 });
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(error)))) });
};

function named(names, props) {
  const list = h("datalist", { id: fresh("names") }, names.slice(0, NAMES).map((name) => h("option", { value: name })));
  return [h("input", { type: "text", list: list.id, autocomplete: "off", spellcheck: "false", ...props }), list];
}

// One card: a kind of question, what it asks for, and the answer.
export function questionsCard(found) {
  const names = found.columns.map((one) => one.name);
  const first = found.columns.find((one) => COUNTED.includes(one.kind))?.name ?? names[0] ?? "";
  const summed = found.columns.find((one) => one.kind === "number")?.name ?? first;
  const [column, columns] = named(names, { value: first });
  const [second, seconds] = named(found.columns.filter((one) => COUNTED.includes(one.kind)).map((one) => one.name), {});
  const terms = h("textarea", { rows: "2", spellcheck: "false", class: "mono" });
  terms.value = summed;
  const together = h("input", { type: "checkbox", id: fresh("together") });
  const row = h("input", { type: "text", inputmode: "numeric", value: "0", class: "short" });
  const others = h("input", { type: "text", inputmode: "numeric", value: "1 2 3" });
  const near = h("input", { type: "text", inputmode: "numeric", value: "0", class: "short" });
  const count = h("input", { type: "text", inputmode: "numeric", value: "5", class: "short" });
  const last = Math.max(0, found.rows - 1).toLocaleString("en");
  const kinds = {
    marginal: ["How many rows have each value?", "rows",
      [h("div", { class: "columns-2" }, field("Column", column, columns, "Numbers answer by the bins in which they were counted."), field("and a second one, if pairs of values are wanted", second, seconds, "Of categories, or true and false."))],
      () => ({ columns: [column.value, second.value].filter((one) => one !== "") })],
    query: ["Counts and sums over all rows", "sum over all rows",
      [field("Terms, one a line", terms, "ward=north counts rows, age adds up a number, 2.5*age weighs it."), h("div", { class: "field flag" }, together, h("label", { for: together.id }, "Add all terms up, as one answer"))],
      () => ({ terms: parted(terms.value), together: together.checked })],
    distances: ["How far are records apart?", "squared distance",
      [h("div", { class: "columns-2" }, field("Released row", row, `From 0 to ${last}.`), field("to rows", others, "One or several, apart by spaces."))],
      () => {
        const wanted = numbers(others.value);
        if (wanted.some(Number.isNaN)) throw new Error("The rows must be whole numbers, apart by spaces.");
        return { row: whole(row, "The released row"), others: wanted };
      }],
    neighbours: ["Which records are nearest to one?", "squared distance",
      [h("div", { class: "columns-2" }, field("Released row", near, `From 0 to ${last}.`), field("How many neighbours", count))],
      () => ({ row: whole(near, "The released row"), count: whole(count, "The number of neighbours") })],
  };
  const offered = Object.keys(kinds).filter((kind) => found.records || !["distances", "neighbours"].includes(kind));
  const which = choice(offered.map((kind) => [kind, kinds[kind][0]]), offered[0], { onchange: draw });
  const form = h("div", {});
  const answer = h("div", { "aria-live": "polite" });
  let asking = null;

  function draw() {
    asking?.abort();
    become(form, kinds[which.value][2]);
    become(answer);
  }

  async function ask() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const kind = which.value;
    try {
      const given = kinds[kind][3]();
      become(answer, h("p", { class: "wait" }, "Asking the release…"), bar(null, "Asking the release"));
      const told = await call(kind, { id: found.id, ...given }, signal);
      become(answer, answered(told, kinds[kind][1]));
    } catch (problem) {
      if (problem.name !== "AbortError") become(answer, alertBox("bad", problem.message));
    }
  }
  draw();
  const made = h("form", { class: "card", "aria-label": "Ask the release", novalidate: true, onsubmit: (event) => { event.preventDefault(); ask(); } },
    h("h2", {}, "Ask the release"),
    h("p", { class: "note" }, "Answers are about the private table, with what the noise leaves open. They follow from the folder alone: asking costs nothing.",
      found.records ? "" : " Distances of single records need a release with a row for each (jl-laplace, dppro, dprp)."),
    field("Question", which), form, h("p", {}, h("button", { type: "submit", class: "main" }, "Ask")), answer);
  return made;
}

function answered(told, what) {
  const most = Math.max(1e-300, ...told.lines.flatMap((one) => [one.value, one.high].filter((value) => typeof value === "number")));
  const least = Math.min(0, ...told.lines.flatMap((one) => [one.value, one.low].filter((value) => typeof value === "number")));
  const percent = `${Math.round(100 * told.level)}%`;
  return [h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "The answer" }, h("table", { class: "answer" },
    h("thead", {}, h("tr", {}, told.heads.map((head) => h("th", { scope: "col" }, head)), h("th", { scope: "col", class: "n" }, what), h("th", { scope: "col", class: "n" }, "standard error"),
      h("th", { scope: "col", class: "n" }, `${percent} interval`), h("td", { class: "picture" }))),
    h("tbody", {}, told.lines.map((one) => h("tr", {}, one.labels.map((label, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, label)),
      h("td", { class: "n" }, digits(one.value, one.error)), h("td", { class: "n" }, digits(one.error, one.error)),
      h("td", { class: "n" }, one.error === null ? "–" : `${digits(one.low, one.error)} to ${digits(one.high, one.error)}`),
      h("td", { class: "picture" }, interval(one, least, most))))))),
  told.left_out ? h("p", { class: "note" }, `${told.left_out.toLocaleString("en")} more lines are not shown: the command gnomon marginal prints them all.`) : null,
  told.about ? h("p", { class: "note" }, `What the errors cover: ${told.about}.`) : null];
}

// Fresh rows from the model: they cost nothing, and are as private as the release.
export function drawing(found, rowsTable) {
  const place = h("div", { "aria-live": "polite" });
  const count = h("input", { type: "text", inputmode: "numeric", value: "20", class: "short" });
  const given = h("textarea", { rows: "2", class: "mono", spellcheck: "false", placeholder: "ward=north\nage=60..80" });
  const file = pathField("Write them to (.parquet or .csv); empty shows up to 20 here", { purpose: "folder", folders: true, start: found.path });
  async function draw(event) {
    event.preventDefault();
    try {
      const wanted = { id: found.id, rows: whole(count, "The number of rows"), given: parted(given.value) };
      const out = file.input.value.trim();
      become(place, h("p", { class: "wait" }, "Drawing…"));
      if (!out) return become(place, rowsTable(await call("draw_rows", wanted), "Rows drawn now from the model"));
      const last = await follow(await call("draw_file", { ...wanted, out }), (now) => become(place, h("p", {}, "Drawing…"), bar(now.stages.at(-1)?.share ?? null, "Drawing rows")));
      return become(place, last.error ? alertBox("bad", last.error)
        : alertBox("good", h("p", {}, `${last.result.rows.toLocaleString("en")} rows, as private as the release, are in `), h("p", { class: "mono path" }, last.result.out)));
    } catch (problem) {
      return become(place, alertBox("bad", problem.message));
    }
  }
  return h("form", { class: "card", "aria-label": "Draw rows", novalidate: true, onsubmit: draw }, h("h2", {}, "Draw rows"),
    h("p", { class: "note" }, "More rows of the model cost nothing and reveal nothing more: the certificate holds for them too."),
    h("div", { class: "columns-2" }, field("How many", count), field("Only rows with these cells, one a line", given, "A value, or low..high for numbers and dates.")), file,
    h("p", {}, h("button", { type: "submit", class: "main" }, "Draw rows")), place);
}
