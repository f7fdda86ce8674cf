// What is said of the table as a whole: its name and account, persons, default policy, the form of the file.
import { choice, field, h, say } from "./dom.js";
import { change, rows, store, tried } from "./store.js";

export function factsPanel() {
  const { table, defaults } = store.project;
  const set = (part, key, read = (text) => text) => async (event) => {
    const text = event.target.value.trim();
    const value = text === "" ? null : read(text);
    if (Number.isNaN(value)) return say("Write a whole number.");
    if (await tried(() => change("facts", { part, set: { [key]: value } }))) say("Written to the schema.");
  };
  const text = (part, key, value, props) => h("input", { type: "text", value: value ?? "", autocomplete: "off", spellcheck: "false", onchange: set(part, key), ...props });
  const whole = (value) => (/^\d+$/.test(value.replace(/[ ,_]/g, "")) ? Number(value.replace(/[ ,_]/g, "")) : NaN);
  const keys = rows().filter((row) => row.keys.kind === "identifier" || row.name === table.person).map((row) => row.name);
  const persons = choice([["", "no: every row is about someone else"], ...keys.map((name) => [name, name])], table.person ?? "");
  const several = h("input", { type: "text", inputmode: "numeric", value: table.rows_per_person ?? 1 });
  const person = async () => {
    const most = whole(several.value);
    if (Number.isNaN(most) || most < 1) return say("The most rows of a person must be a whole number of at least 1.");
    await tried(() => change("person", { name: persons.value || null, rows: most }));
    perPerson.hidden = !persons.value;
  };
  persons.addEventListener("change", person);
  several.addEventListener("change", person);
  const perPerson = field("Rows of one person that are used, at most", several, "Further rows of a person are left out. Fewer rows need less noise.");
  perPerson.hidden = !table.person;
  const csv = table.csv ?? {};
  return h("details", { class: "facts card" },
    h("summary", {}, "About the table: name, account, people with several rows, missing cells, form of the file"),
    h("div", { class: "columns-2" },
      field("Name of the table", text("table", "name", table.name)),
      field("Budget account", text("table", "account", table.account, { placeholder: table.name ?? "table" }), "Releases of the same people draw on one account."),
      field("Does a column tell people apart who have several rows?", persons, keys.length ? "Then all rows of a person are protected together, and the number of rows is private." : "Columns of kind identifier can."),
      perPerson,
      field("About how many rows (public knowledge)", text("table", "rows", table.rows, { inputmode: "numeric", onchange: set("table", "rows", whole) }), "Needed where the number of rows is private; an order of magnitude will do."),
      field("Missing cells, by default", choice([["", "none are expected"], ["indicator", "kept as missing, and released so"]], defaults.missing ?? "", { onchange: set("defaults", "missing") })),
      "csv" in table || /\.(csv|tsv|txt|tab)(\.|$)/i.test(store.project.words) ? [
        field("Delimiter", text("csv", "delimiter", csv.delimiter, { placeholder: ",", onchange: set("csv", "delimiter", (one) => (one === "\\t" || one === "tab" ? "\t" : one)) })),
        field("Encoding", text("csv", "encoding", csv.encoding, { placeholder: "utf-8" })),
        field("Decimal sign", choice([["", "."], [",", ","]], csv.decimal ?? "", { onchange: set("csv", "decimal") })),
        field("How dates are written", text("csv", "date_format", csv.date_format, { placeholder: "%Y-%m-%d" })),
        field("Codes that mean missing", text("csv", "missing_values", (csv.missing_values ?? []).join("|"), { placeholder: "NA|-9", onchange: set("csv", "missing_values", (one) => one.split("|").map((part) => part.trim()).filter(Boolean)) }), "Apart by |"),
      ] : null));
}
