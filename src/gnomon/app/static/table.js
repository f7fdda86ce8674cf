// Step 1: a file, a folder or a database query on this machine, and where its schema lies.
import { call } from "./api.js";
import { choosePath, pathField } from "./chooser.js";
import { alertBox, become, button, field, h } from "./dom.js";
import { fill, store } from "./store.js";

export async function tableView(main) {
  const { recent } = await call("hello");
  const next = h("section", { "aria-live": "polite" });
  const state = { path: null };

  async function pickFile(folders) {
    const path = await choosePath({ purpose: "table", folders, start: state.path, title: folders ? "Choose a folder of Parquet files" : "Choose a table" });
    if (path === null) return;
    await offer({ path });
  }

  async function offer(data) {
    let found;
    try {
      found = await call("schemas_for", { path: data.path ?? null });
      state.path = data.path ?? null;
    } catch (problem) {
      become(next, alertBox("bad", problem.message));
      return;
    }
    const kept = found.before;
    const problem = h("div", {});
    const fresh = pathField("A new schema is written to", { purpose: "folder", value: found.new });
    const old = h("div", { class: "field" });
    const which = h("fieldset", { class: "plain" }, h("legend", {}, "Its schema: what everyone may know of it"));
    const radio = (value, words, checked) => h("label", { class: "radio" }, h("input", { type: "radio", name: "which", value, checked, onchange: sync }), words);
    const other = pathField("The schema", { purpose: "schema", value: kept ?? found.existing[0] ?? "" });
    which.append(radio("new", "Draft a new one from names and types", !kept), radio("old", "Go on with one that exists", Boolean(kept)));
    old.append(other);
    function sync() {
      const isNew = which.querySelector("input[value=new]").checked;
      fresh.hidden = !isNew;
      old.hidden = isNew;
    }
    async function open() {
      const isNew = which.querySelector("input[value=new]").checked;
      const place = isNew ? fresh.input.value : other.input.value;
      become(problem, h("p", { class: "wait" }, "Looking at names, types and the form of the file…"));
      try {
        const made = await call("open_table", { ...data, schema_path: place });
        fill(made);
        become(problem);
        columns(made);
      } catch (error) {
        become(problem, alertBox("bad", error.message));
      }
    }
    become(next,
      h("div", { class: "card" },
        h("h2", {}, data.path ? data.path.split(/[\\/]/).pop() : "A query of a database"),
        h("p", { class: "note mono" }, data.path ?? data.database),
        found.writable ? null : alertBox("warn", "This folder cannot be written to: choose another place for the schema."),
        which, fresh, old,
        h("p", {}, button("Open the table", open, { class: "main" })), problem));
    sync();
    next.querySelector("h2").tabIndex = -1;
    next.querySelector("h2").focus();
  }

  function columns(made) {
    const kinds = {};
    made.columns.forEach((one) => { kinds[one.keys.kind ?? "not declared"] = (kinds[one.keys.kind ?? "not declared"] ?? 0) + 1; });
    const many = made.columns.length > 400;
    become(next,
      h("div", { class: "card" },
        h("h2", {}, `${made.count.toLocaleString("en")} columns`),
        h("p", {}, Object.entries(kinds).map(([kind, count]) => h("span", { class: `chip kind-${kind.replace(" ", "-")}` }, `${count.toLocaleString("en")} ${kind}`))),
        made.remarks.map((one) => h("p", { class: "note" }, one)),
        h("ul", { class: "columns", tabindex: "0", "aria-label": "Columns and their types" }, made.columns.slice(0, 400).map((one) =>
          h("li", {}, h("span", { class: "name" }, one.name), h("span", { class: "kind" }, one.keys.kind ? `${one.keys.integer ? "whole " : ""}${one.keys.kind}` : "not declared")))),
        many ? h("p", { class: "note" }, `${(made.columns.length - 400).toLocaleString("en")} more: the next step has them all.`) : null,
        h("p", {}, h("a", { class: "button main", href: `#/p/${made.id}/schema` }, "Say what everyone may know of them →"))));
    next.querySelector("h2").tabIndex = -1;
    next.querySelector("h2").focus();
  }

  function database() {
    const url = h("input", { type: "text", placeholder: "postgresql://user@host/name or sqlite:////path/file.sqlite", spellcheck: "false", autocomplete: "off", class: "mono" });
    const query = h("textarea", { rows: "3", spellcheck: "false", class: "mono", placeholder: "SELECT * FROM visits WHERE year = 2025" });
    const table = h("input", { type: "text", spellcheck: "false", autocomplete: "off", class: "mono" });
    const problem = h("div", {});
    const browse = button("Browse for an SQLite file…", async () => {
      const path = await choosePath({ purpose: "database" });
      if (path !== null) url.value = `sqlite:///${path}`;
    });
    become(next, h("div", { class: "card" }, h("h2", {}, "A query or a table of a database"),
      field("Address", url, "Without a password: that comes from the environment (PGPASSWORD) or the driver's own file (~/.pgpass)."), h("p", {}, browse),
      field("Query", query, "It is run in one read-only snapshot."), field("or the name of a table", table), problem,
      h("p", {}, button("Go on", () => {
        if (!url.value.trim() || (!query.value.trim()) === (!table.value.trim())) {
          become(problem, alertBox("bad", "Give the address of the database, and either a query or the name of a table."));
          return;
        }
        offer({ database: url.value.trim(), query: query.value.trim() || null, table: table.value.trim() || null });
      }, { class: "main" }))));
    url.focus();
  }

  become(main,
    h("h1", {}, "Which table shall be released?"),
    h("p", { class: "lead" }, "gnomon publishes a differentially private release of a table: rows that ordinary tools can use, and that reveal almost nothing about any one record. Choose a table that lies on this machine. It stays there: nothing is uploaded."),
    h("div", { class: "picks" },
      pick("A file", "Parquet, CSV and other delimited text, Excel, JSON lines, Arrow", () => pickFile(false)),
      pick("A folder", "of Parquet files that make one table", () => pickFile(true)),
      pick("A database", "a query or a table, PostgreSQL or SQLite", database)),
    next,
    recent.length ? h("section", {}, h("h2", {}, "Go on where you were"),
      h("ul", { class: "recent" }, recent.map((one) => h("li", {}, h("a", { href: `#/p/${one.id}/schema` },
        h("strong", {}, one.words.split(/[\\/]/).pop()), h("span", { class: "note mono" }, one.words), h("span", { class: "note mono" }, `schema: ${one.schema_path}`)))))) : null);
  if (!recent.length) main.append(h("section", { class: "steps-ahead" }, h("h2", {}, "How it goes"), h("ol", {},
    h("li", {}, h("strong", {}, "Table. "), "Names and types of the columns are read, and no cell is shown."),
    h("li", {}, h("strong", {}, "What everyone may know. "), "You say which values could occur, from public knowledge."),
    h("li", {}, h("strong", {}, "Budget. "), "You choose how much may be learnt of anyone, and see what that buys."),
    h("li", {}, h("strong", {}, "Release. "), "A folder is made that may be published as it is, with a certificate and a report."),
    h("li", {}, h("strong", {}, "Accounts. "), "What was spent on these people adds up, and never passes your cap."))));
  if (store.project) next.append(h("p", { class: "note" }, "Open now: ", h("a", { href: `#/p/${store.project.id}/schema` }, store.project.words)));
}

const pick = (title, words, act) => h("button", { type: "button", class: "pick", onclick: act }, h("strong", {}, title), h("span", {}, words));
