// The path chooser: folders and files of this machine, listed by the server; nothing is uploaded.
import { call } from "./api.js";
import { ask, become, button, field, fresh, h } from "./dom.js";

const WORDS = {
  table: "Choose a table",
  schema: "Choose a schema",
  codebook: "Choose a codebook",
  database: "Choose a database file",
  key: "Choose a public key",
  folder: "Choose a folder",
  release: "Choose a release folder",
};

// What was picked, as a path, or null. `mode` is "file", "folder" (also a folder of files), or "release".
export async function choosePath({ purpose, start = null, folders = false, title }) {
  let here = null;
  let picked = null;
  const list = h("ul", { class: "files", "aria-label": "Files and folders" });
  const place = h("p", { class: "place" });
  const more = h("p", { class: "note" });
  const search = h("input", { type: "search", placeholder: "Filter names", autocomplete: "off", "aria-label": "Filter names" });
  const typed = h("input", { type: "text", autocomplete: "off", spellcheck: "false", class: "mono" });
  const problem = h("p", { class: "problem", role: "alert" });

  async function show(path, keep) {
    try {
      here = await call("list_folder", { path, purpose: purpose === "release" ? "folder" : purpose, search: search.value });
    } catch (error) {
      if (here === null && path !== null) return show(null, keep);
      become(problem, error.message);
      return undefined;
    }
    become(problem);
    become(place, crumbs());
    const wanted = here.entries.filter((one) => one.folder || purpose !== "release");
    become(list, wanted.map((one) => h("li", {}, entry(one))));
    if (!wanted.length) become(list, h("li", { class: "note" }, "Nothing here that would do."));
    become(more, here.left_out ? `${here.left_out.toLocaleString("en")} more are not shown: filter them by name.` : "");
    typed.value = folders || purpose === "release" ? here.path : "";
    picked = folders ? here.path : null;
    if (!keep) list.querySelector("button")?.focus();
    return undefined;
  }

  function entry(one) {
    const icon = h("span", { class: `icon ${one.release ? "release" : one.folder ? "folder" : "file"}`, "aria-hidden": "true" });
    const words = one.release ? "release folder" : one.folder ? "folder" : "file";
    const chosen = () => {
      if (one.folder && !(purpose === "release" && one.release)) return show(one.path);
      picked = one.path;
      typed.value = one.path;
      list.querySelectorAll("[aria-pressed]").forEach((other) => other.setAttribute("aria-pressed", "false"));
      made.setAttribute("aria-pressed", "true");
    };
    const made = button([icon, h("span", { class: "name" }, one.name), h("span", { class: "hidden" }, `, ${words}`)], chosen, {
      class: "entry",
      ondblclick: () => { if (picked) made.form.requestSubmit(); },
    });
    if (!one.folder || (purpose === "release" && one.release)) made.setAttribute("aria-pressed", "false");
    return made;
  }

  function crumbs() {
    const root = here.roots.filter((one) => here.path.startsWith(one)).sort((a, b) => b.length - a.length)[0];
    const others = here.roots.filter((one) => one !== root);
    const parts = here.path.slice(root.length).split("/").filter(Boolean);
    let path = root;
    const steps = [button(root, () => show(root), { class: "link" })];
    for (const part of parts) {
      path += `${path.endsWith("/") ? "" : "/"}${part}`;
      const to = path;
      steps.push(" / ", button(part, () => show(to), { class: "link" }));
    }
    if (others.length) {
      steps.push(h("span", { class: "note" }, "  or go to "), others.map((one) => [button(one, () => show(one), { class: "link" }), " "]));
    }
    return steps;
  }

  let wait;
  search.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => show(here?.path ?? start, true), 150);
  });
  typed.addEventListener("input", () => { picked = typed.value; });
  search.id = fresh("s");
  const body = h("div", { class: "chooser" }, place, search, list, more, problem, field("Path", typed, "You may also type or paste a path of this machine."));
  const opening = ask(title ?? WORDS[purpose], body, [
    { words: "Cancel", act: () => null },
    { words: "Choose", main: true, act: () => {
      const path = typed.value.trim() || picked;
      if (!path) throw new Error(purpose === "release" || folders ? "Choose a folder first." : "Choose a file first.");
      return path;
    } },
  ], { class: "wide" });
  show(start);
  return opening;
}

// A text field for a path with a button that opens the chooser.
export function pathField(label, { purpose, value = "", note, folders = false, start, changed = () => {} }) {
  const input = h("input", { type: "text", value, spellcheck: "false", autocomplete: "off", class: "mono", onchange: () => changed(input.value) });
  const made = field(label, input, note);
  const open = button("Browse…", async () => {
    const path = await choosePath({ purpose, folders, start: input.value || start || null });
    if (path !== null) {
      input.value = path;
      changed(path);
    }
  }, { "aria-label": `Browse for: ${label}` });
  const row = h("div", { class: "beside" });
  input.replaceWith(row);
  row.append(input, open);
  made.input = input;
  return made;
}
