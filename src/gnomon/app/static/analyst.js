// For analysts: open a release folder, read its report, look at its rows, ask it questions.
import { call } from "./api.js";
import { verifyCard } from "./accounts.js";
import { pathField } from "./chooser.js";
import { alertBox, become, button, h, plural } from "./dom.js";
import { drawing, questionsCard } from "./questions.js";
import { releaseCard, reportFrame } from "./release.js";

export async function analystView(main, { rest }) {
  const place = h("section", { "aria-live": "polite" });
  const folder = pathField("Release folder", { purpose: "release", value: rest[0] ?? "", changed: () => {} });
  const open = button("Open", show, { class: "main" });
  folder.input.addEventListener("keydown", (event) => event.key === "Enter" && show());

  async function show() {
    become(place, h("p", { class: "wait" }, "Opening…"));
    try {
      const found = await call("open_folder", { path: folder.input.value.trim() });
      history.replaceState(null, "", `#/analyst/${encodeURIComponent(found.path)}`);
      const rows = await call("released_rows", { id: found.id });
      become(place, h("h2", {}, found.title),
        h("p", {}, `${found.rows.toLocaleString("en")} rows, ${plural(found.columns.length, "column")}, released by ${found.method}. ${found.synthetic ? "The rows are drawn from a model: none is the image of a record." : "One noisy row for each record."}`),
        releaseCard(found), h("section", { class: "card", "aria-label": "Released rows" }, rowsTable({ ...rows, rows: rows.rows.slice(0, 8) }, "The first released rows")),
        questionsCard(found), found.synthetic ? drawing(found, rowsTable) : null, await reportFrame(found.id), verifyCard(found.path));
    } catch (problem) {
      become(place, alertBox("bad", problem.message));
    }
  }

  become(main, h("h1", {}, "Work with a release"),
    h("p", { class: "lead" }, "A release folder may come from anybody: it is read without trusting it, and its report is shown without scripts."),
    h("div", { class: "card" }, folder, h("p", {}, open)), place);
  if (rest[0]) await show();
}

export function rowsTable({ names, rows }, caption) {
  return [h("h3", {}, caption), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption }, h("table", { class: "rows" },
    h("thead", {}, h("tr", {}, names.slice(0, 60).map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.slice(0, 60).map((cell) => h("td", { class: /^-?[\d.]+(e[+-]?\d+)?$/.test(cell) ? "n" : null }, cell)))))),
  names.length > 60 ? h("p", { class: "note" }, `and ${names.length - 60} more columns`) : null)];
}
