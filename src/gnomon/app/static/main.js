// The page: a header with the steps, and one view at a time, by the address after the hash.
import { call, takeToken, whenLost } from "./api.js";
import { accountsView } from "./accounts.js";
import { analystView } from "./analyst.js";
import { budgetView } from "./budget.js";
import { alertBox, become, h } from "./dom.js";
import { sundial } from "./picture.js";
import { releaseView } from "./release.js";
import { schemaView } from "./schema.js";
import { load, store, watch } from "./store.js";
import { tableView } from "./table.js";

const main = document.getElementById("main");
const top = document.getElementById("top");
const VIEWS = {
  table: ["Table", tableView],
  schema: ["What everyone may know", schemaView],
  budget: ["Budget", budgetView],
  release: ["Release", releaseView],
  accounts: ["Accounts", accountsView],
  analyst: ["For analysts", analystView],
};
let leave = () => {};
let known = null;

function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (parts[0] === "p" && parts[2] in VIEWS) return { view: parts[2], project: parts[1] };
  if (parts[0] in VIEWS) return { view: parts[0], rest: parts.slice(1) };
  return { view: "table", rest: [] };
}

function header(view) {
  const id = store.project?.id;
  const step = (name, number) => {
    const needs = ["schema", "budget", "release"].includes(name);
    const words = [number ? h("span", { class: "number", "aria-hidden": "true" }, number) : null, h("span", {}, VIEWS[name][0])];
    if (needs && !id) return h("li", {}, h("span", { class: "step off", title: "Choose a table first" }, words, h("span", { class: "hidden" }, " (choose a table first)")));
    const to = needs ? `#/p/${id}/${name}` : `#/${name}`;
    return h("li", {}, h("a", { class: "step", href: to, "aria-current": view === name ? "step" : null }, words));
  };
  become(top,
    h("div", { class: "brand" }, h("a", { href: "#/table", "aria-label": "gnomon, first step" }, sundial(), h("span", {}, "gnomon")),
      store.project ? h("p", { class: "of", title: store.project.words }, store.project.words.split(/[\\/]/).pop()) : null),
    h("nav", { "aria-label": "Steps" },
      h("ol", {}, ["table", "schema", "budget", "release", "accounts"].map((name, i) => step(name, i + 1))),
      h("ul", {}, step("analyst"))));
  const here = top.querySelector("[aria-current]");
  if (here) here.closest("ol, ul").scrollLeft = Math.max(0, here.offsetLeft - 60);
}

async function show() {
  if (/^#token=/.test(location.hash)) return;
  leave();
  leave = () => {};
  document.getElementById("said").replaceChildren();
  const { view, project, rest } = route();
  document.title = `${VIEWS[view][0]} · gnomon`;
  if (project && store.project?.id !== project) {
    become(main, h("p", { class: "wait" }, "Opening the table…"));
    try {
      await load(project);
    } catch (problem) {
      if (problem.status === 401) return;
      become(main, h("h1", {}, "That table cannot be opened"), alertBox("bad", problem.message), h("p", {}, h("a", { href: "#/table" }, "Choose a table")));
      header(view);
      return;
    }
  } else if (project) {
    try { await load(project); } catch { /* the banner says it */ }
  }
  if (route().view !== view) return;
  header(view);
  main.className = `view-${view}`;
  become(main);
  const stop = watch(() => header(route().view));
  const made = await VIEWS[view][1](main, { rest: rest ?? [], known });
  leave = () => {
    stop();
    made?.();
  };
  const heading = main.querySelector("h1");
  if (heading && show.again && !main.contains(document.activeElement)) { // never out of a field in which somebody types already
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  show.again = true;
}

const lost = document.getElementById("lost");
whenLost((why) => {
  lost.hidden = why === null;
  if (why === "gone") {
    become(lost, h("p", {}, h("strong", {}, "The server has ended. "),
      "Nothing is lost: schemas, budgets, releases and what is needed to resume one are files. Start ", h("code", {}, "gnomon serve"),
      " again and open the address that it prints."));
  } else if (why === "token") {
    become(lost, h("p", {}, h("strong", {}, "This tab has no key. "), "Open the address that ", h("code", {}, "gnomon serve"), " printed: it ends in a token."));
  }
});

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// an address with a fresh token may be opened in a tab that shows the page already
addEventListener("hashchange", () => /^#token=/.test(location.hash) && location.reload());

async function start() {
  const has = takeToken();
  header("table");
  try {
    known = await call("hello");
    become(document.getElementById("foot"), h("p", {}, `gnomon ${known.version} on this machine. Nothing leaves it: this page loads nothing from elsewhere, and no cell of a table is sent to it.`));
  } catch (problem) {
    if (!has || problem.status === 401) {
      become(main, h("h1", {}, "gnomon"), h("p", {}, "This page opens with the whole address that ", h("code", {}, "gnomon serve"), " printed."));
    }
    return;
  }
  addEventListener("hashchange", show);
  await show();
}

start();
