// Step 3: how much may be learnt of anyone, what that buys, and what the account has left.
import { call } from "./api.js";
import { alertBox, ask, become, button, field, h, plural, say } from "./dom.js";
import { bar, guesses, stacked } from "./picture.js";
import { change, remember, store, tried } from "./store.js";

const LOW = Math.log(0.05);
const HIGH = Math.log(20);
const DELTAS = [0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4];
export const VERDICTS = ["good", "usable", "weak", "lost"];
const MARKS = { good: "●", usable: "◕", weak: "◔", lost: "○" }; // readable without colour
const VERDICT_WORDS = { good: "nearly as in the table", usable: "the main shape survives", weak: "far off, or assumed", lost: "no better than what is public" };
const tidy = (value) => Number(value.toPrecision(2));

export const settings = () => ({ epsilon: 1, delta: 1e-6, adjacency: "replace-one", ...store.project.settings });

export const level = (word, text = word) => h("span", { class: `level ${word}` }, h("span", { class: "mark-of", "aria-hidden": "true" }, MARKS[word]), text);

export async function budgetView(main) {
  const now = settings();
  const persons = Boolean(store.project.table.person);
  if (persons) now.adjacency = "add-remove";
  const slider = h("input", { type: "range", min: "0", max: "1000", step: "10", "aria-label": "Epsilon, as a slider" });
  const number = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "short" });
  const deltas = h("input", { type: "range", min: "0", max: String(DELTAS.length - 1), step: "1", "aria-label": "Delta, as a slider" });
  const delta = h("input", { type: "text", autocomplete: "off", class: "short" });
  const attack = h("div", { class: "attack", "aria-live": "polite" });
  const account = h("div", {});
  const plan = h("section", { class: "card", "aria-label": "What this budget buys", "aria-busy": "false" });
  const problem = h("div", {});
  const judged = h("div", { class: "judged" });
  let asking = null;
  let timer = null;
  let left = false;

  function sync(from) {
    // where the slider itself was moved it stays: its value is finer than the rounded epsilon
    if (from !== slider) slider.value = String(Math.round((1000 * (Math.log(now.epsilon) - LOW)) / (HIGH - LOW)));
    slider.setAttribute("aria-valuetext", `epsilon ${now.epsilon}`);
    deltas.value = String(Math.max(0, DELTAS.findLastIndex((one) => one <= now.delta * 1.0001)));
    deltas.setAttribute("aria-valuetext", now.delta ? `delta ${now.delta}` : "pure: delta 0");
    if (from !== number) number.value = String(now.epsilon);
    if (from !== delta) delta.value = now.delta ? now.delta.toExponential().replace(".0e", "e") : "0";
  }

  function changed(from) {
    sync(from);
    remember({ epsilon: now.epsilon, delta: now.delta, adjacency: now.adjacency });
    clearTimeout(timer);
    timer = setTimeout(ask_, 60);
  }

  slider.addEventListener("input", () => {
    now.epsilon = tidy(Math.exp(LOW + ((HIGH - LOW) * Number(slider.value)) / 1000));
    changed(slider);
  });
  deltas.addEventListener("input", () => {
    now.delta = DELTAS[Number(deltas.value)];
    changed(deltas);
  });
  const typed = (input, key, good) => () => {
    const value = Number(input.value.replace(",", "."));
    if (input.value.trim() === "" || !good(value)) {
      input.setAttribute("aria-invalid", "true");
      return;
    }
    input.removeAttribute("aria-invalid");
    now[key] = value;
    changed(input);
  };
  number.addEventListener("input", typed(number, "epsilon", (value) => value >= 1e-4 && value <= 1000));
  delta.addEventListener("input", typed(delta, "delta", (value) => value === 0 || (value >= 1e-100 && value < 1)));

  async function ask_() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    plan.setAttribute("aria-busy", "true");
    try {
      const planned = call("plan", { id: store.project.id, epsilon: now.epsilon, delta: now.delta, adjacency: now.adjacency }, signal);
      planned.catch(() => {}); // it is awaited below
      const reach = await call("reach", { epsilon: now.epsilon, delta: now.delta }, signal);
      if (left) return;
      drawAttack(reach);
      drawAccount();
      const found = await planned;
      if (left) return;
      become(problem);
      plan.hidden = false;
      drawPlan(found);
      if (found.methods.length) judge();
    } catch (error) {
      if (error.name === "AbortError") return;
      // typing must not lose its place to a second answer of the same kind
      if (!/order of magnitude|rows = /.test(error.message)) become(problem, alertBox("bad", error.message));
      else if (!problem.querySelector("input")) become(problem, alertBox("warn", h("p", {}, "The number of rows is private here, so that its order of magnitude is needed, from public knowledge. It is written to the schema."), rowsForm()));
      plan.hidden = true;
    }
    plan.setAttribute("aria-busy", "false");
  }

  function rowsForm() {
    const count = h("input", { type: "text", inputmode: "numeric", class: "short" });
    return h("div", { class: "beside" }, field("About how many rows are there, by public knowledge?", count), button("Keep", () => tried(async () => {
      const rows = Number(count.value.replace(/[ ,_]/g, ""));
      if (!Number.isInteger(rows) || rows < 1) return say("Write a whole number.");
      await change("facts", { part: "table", set: { rows } });
      ask_();
    })));
  }

  function drawAttack(reach) {
    become(attack,
      guesses(reach.bound),
      h("p", { class: "legend" }, h("span", { class: "key coin" }, "a coin"), h("span", { class: "key gained" }, "what the release may add"), h("span", { class: "key wrong" }, "wrong")),
      h("p", {}, "Somebody knows the whole table but for one record, and that it is one of two versions. With this release, and all the time and computing power there is, they name the right one at most ",
        h("strong", {}, reach.bound_words), " of the time. A coin is right 50% of the time."),
      reach.exact_words ? h("p", { class: "note" }, `Where all noise is Gaussian, the exact figure is known, and smaller: ${reach.exact_words}. The certificate says what holds for your release.`) : h("p", { class: "note" }, "Pure: the bound holds without any exception. A small delta would allow less noise."));
  }

  async function drawAccount() {
    const name = store.project.account;
    let found;
    try {
      found = await call("balance", { account: name });
    } catch (error) {
      return become(account, alertBox("bad", error.message));
    }
    if (left) return;
    become(account, balanceCard(found, now), button(found.epsilon_cap === null ? "Set a cap…" : "Change the cap…", async () => {
      if (await capDialog(found, now)) drawAccount();
    }));
  }

  // By column: it follows the dials after a pause, and what is outdated is given up.
  let byMethod = false;
  let pause = null;
  let judging = null;
  function judge(remedies = false) {
    clearTimeout(pause);
    judging?.abort();
    judged.setAttribute("aria-busy", "true");
    if (!judged.firstChild) become(judged, h("p", { class: "wait" }, "Trying the method on a reference table…"), bar(null, "Trying the method on a reference table"));
    pause = setTimeout(async () => {
      judging = new AbortController();
      try {
        const found = await call("verdicts", { id: store.project.id, epsilon: now.epsilon, delta: now.delta, adjacency: now.adjacency, remedies }, judging.signal);
        if (left || found.overtaken) return;
        become(judged, verdictList(found),
          remedies ? remedyTable(found) : found.columns.some((one) => one.level !== "good") ? h("p", {}, button("What would more rows or budget buy?", (event) => {
            become(event.target, "Trying larger tables and budgets…");
            event.target.disabled = true;
            judge(true);
          })) : null,
          h("p", { class: "note" }, `Predicted for ${found.method} by trying it on a reference table of your schema; no cell was read.`));
      } catch (error) {
        if (left || error.name === "AbortError") return;
        become(judged, h("p", { class: "note" }, error.message));
      }
      judged.setAttribute("aria-busy", "false");
    }, remedies ? 0 : 250);
  }

  function drawPlan(found) {
    const auto = found.methods.find((one) => one.method === found.auto);
    become(plan,
      h("h2", {}, "What it buys"),
      h("p", {}, `${found.private_rows ? `About ${found.rows.toLocaleString("en")} rows (their number is private)` : `${found.rows.toLocaleString("en")} rows (their number is public)`}, ${plural(found.released, "released column")}, for ${found.protects}. No cell was read.`),
      found.weak.map((one) => alertBox("warn", one)),
      found.methods.length ? judged : null,
      found.estimated ? h("p", { class: "note" }, found.estimated) : null,
      h("details", { open: byMethod, ontoggle: (event) => { byMethod = event.target.open; } }, h("summary", {}, `By method: auto means ${found.auto}, and ${plural(found.methods.length - 1, "other")} could keep this promise`), auto ? h("p", {}, auto.advice) : null, methods(found)),
      found.elsewhere ? h("p", { class: "note" }, found.elsewhere) : null,
      found.methods.length ? h("p", { class: "next" }, h("a", { class: "button main", href: `#/p/${store.project.id}/release` }, "Go on to the release →")) : alertBox("bad", "No method can keep this promise for this schema; change the budget."));
  }

  const radio = (value, words, note) => h("label", { class: "radio" }, h("input", { type: "radio", name: "adjacency", value, checked: now.adjacency === value, onchange: () => { now.adjacency = value; changed(); } }), h("span", {}, words, h("span", { class: "note" }, note)));
  const privately = h("fieldset", { class: "plain" }, h("legend", {}, "What is protected"),
    radio("replace-one", "What a row says ", "The number of rows is public."), radio("add-remove", "Also whether a row is there ", "The number of rows is private."));
  become(main,
    h("h1", {}, "How much may be learnt of anyone?"),
    h("p", { class: "lead" }, "A smaller epsilon protects more and needs more noise. Move it and see what an attacker reaches and what is left of each column. Nothing is spent here."),
    problem,
    h("div", { class: "two" },
      h("section", { class: "card", "aria-label": "The budget" },
        h("div", { class: "dial" }, field("Epsilon", number), slider, h("p", { class: "scale" }, h("span", {}, "0.05 strict"), h("span", {}, "1 common"), h("span", {}, "20 protects little"))),
        h("div", { class: "dial" }, field("Delta", delta), deltas, h("p", { class: "scale" }, h("span", {}, "0 pure"), h("span", {}, "far below 1 / rows"))),
        persons ? h("p", { class: "note" }, `All rows of one person (${store.project.table.person}) are protected together, and the number of rows is private.`) : privately),
      h("section", { class: "card", "aria-label": "What an attacker reaches" }, h("h2", {}, "What an attacker reaches"), attack),
      h("section", { class: "card", "aria-label": "The account" }, h("h2", {}, "The account"), account)),
    plan);
  sync();
  ask_();
  return () => {
    left = true;
    clearTimeout(timer);
    clearTimeout(pause);
    asking?.abort();
    judging?.abort();
  };
}

function methods(found) {
  const percent = (error) => (error === null || error >= 10 ? "over 1,000%" : `${error >= 0.1 ? Math.round(100 * error) : (100 * error).toPrecision(2)}%`);
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Methods" }, h("table", { class: "methods" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Method"), h("th", { scope: "col", class: "n" }, "Expected error"), h("th", { scope: "col", class: "publishes" }, "Publishes"), h("th", { scope: "col" }, "What to expect"))),
    h("tbody", {}, found.methods.map((one) => h("tr", {}, h("th", { scope: "row" }, one.method, one.method === found.auto ? h("span", { class: "chip sun" }, "auto") : null),
      h("td", { class: "n" }, percent(one.error)), h("td", { class: "publishes" }, one.publishes === "model" ? "a model's rows" : "a row a record"), h("td", {}, one.advice))))));
}

// How good each column would be: four tiles, of which those with columns open.
function verdictList(found) {
  const total = found.columns.length || 1;
  const poor = found.classes.filter((one) => one.level === "weak" || one.level === "lost").map((one) => one.name);
  const names = h("div", { class: "tile-columns", "aria-live": "polite" });
  let open = null;
  const tiles = VERDICTS.map((word) => {
    const list = found.columns.filter((one) => one.level === word);
    const inside = [level(word), h("strong", {}, list.length.toLocaleString("en")), h("span", { class: "note" }, VERDICT_WORDS[word]), stacked([[word, list.length / total]], `${list.length} of ${total} columns`)];
    if (!list.length) return h("div", { class: "tile none" }, inside);
    const made = h("button", { type: "button", class: "tile", "aria-expanded": "false", onclick: () => {
      open = open === word ? null : word;
      tiles.forEach((one) => one.hasAttribute("aria-expanded") && one.setAttribute("aria-expanded", String(open !== null && one === made)));
      become(names, open ? columnList(word, list) : null);
    } }, inside);
    return made;
  });
  return [
    found.useless ? alertBox("bad", h("strong", {}, "Nothing would be left. "), "By public numbers alone, every column would be no better than what is public already: a release would be refused before the charge.") : null,
    h("div", { class: "tiles", role: "group", "aria-label": "Columns by how good they would be" }, tiles), names,
    poor.length ? h("p", { class: "note" }, `Classes of uncertain size: ${poor.slice(0, 12).join(", ")}${poor.length > 12 ? ", …" : ""}.`) : null,
    found.relation ? h("p", {}, "The relation of the columns to the target ", h("strong", {}, found.relation.name), " would be ", level(found.relation.level), ".") : null,
  ];
}

function columnList(word, list) {
  return [h("ul", { class: "columns", tabindex: "0", "aria-label": `${word} columns` }, list.slice(0, 500).map((one) => h("li", {}, h("span", { class: "name" }, one.name),
    h("span", { class: "kind" }, one.location ? `location ${one.location}, marginal ${one.marginal}` : `marginal ${one.marginal}`)))),
  list.length > 500 ? h("p", { class: "note" }, `and ${(list.length - 500).toLocaleString("en")} more`) : null];
}

// What would bring columns to the next level, each alone: columns with the same remedy together.
function remedyTable(found) {
  const groups = new Map();
  for (const one of found.columns.filter((column) => column.next)) {
    const key = JSON.stringify([one.level, one.next]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  if (!groups.size) return h("p", { class: "note" }, "Neither many more rows nor a much larger epsilon would change a level.");
  const cell = (value) => h("td", { class: "n" }, value === null ? "–" : typeof value === "number" && value >= 1000 ? value.toLocaleString("en") : String(value));
  const title = "What would bring columns to the next level, each alone";
  return [h("h3", {}, title), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": title }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Columns"), h("th", { scope: "col" }, "Now"), h("th", { scope: "col" }, "Would be"), ["about so many rows", "or epsilon", "or delta"].map((head) => h("th", { scope: "col", class: "n" }, head)))),
    h("tbody", {}, [...groups.values()].map((list) => h("tr", {}, h("th", { scope: "row", title: list.map((one) => one.name).join(", ").slice(0, 2000) }, list.length === 1 ? list[0].name : `${list.length.toLocaleString("en")}: ${list.slice(0, 3).map((one) => one.name).join(", ")}${list.length > 3 ? ", …" : ""}`),
      h("td", {}, level(list[0].level)), h("td", {}, level(list[0].next.level)),
      cell(list[0].next.rows), cell(list[0].next.epsilon), cell(list[0].next.delta))))))];
}

export const amount = (value) => (typeof value !== "number" ? value : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(5).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(6))));

// What an account may spend, has spent, and would have left after this release.
export function balanceCard(found, wanted) {
  const { epsilon_cap: cap, epsilon_spent: spent, epsilon_left: rest } = found;
  const counts = found.counts ? h("p", { class: "note" }, `It counts ${found.counts}; ${plural(found.charges, "release")} so far.`) : h("p", { class: "note" }, "Nothing was spent from it yet.");
  if (cap === null) {
    return h("div", {}, h("p", {}, h("strong", {}, found.account), `: epsilon ${amount(spent)} spent, and no cap is set. A cap says how much all releases of these people together may spend.`), counts);
  }
  const whole = typeof cap === "number" ? cap : 1;
  const over = wanted && typeof rest === "number" && wanted.epsilon > rest;
  const overDelta = wanted && typeof found.delta_left === "number" && wanted.delta > found.delta_left;
  const asked = wanted ? Math.min(wanted.epsilon / whole, Math.max(0, 1 - spent / whole)) : 0;
  const words = `epsilon ${amount(spent)} of ${amount(cap)} spent${wanted ? `, ${amount(wanted.epsilon)} for this release` : ""}`;
  return h("div", {},
    h("p", {}, h("strong", {}, found.account), `: epsilon ${amount(spent)} of ${amount(cap)} spent, ${amount(rest)} left.`, found.delta_cap ? ` Delta ${amount(found.delta_spent)} of ${amount(found.delta_cap)}.` : ""),
    typeof spent === "number" ? stacked([["spent", spent / whole], ["asked", asked]], words) : null,
    wanted ? h("p", { class: "legend" }, h("span", { class: "key spent" }, "spent"), h("span", { class: "key asked" }, "this release"), h("span", { class: "key track" }, "left")) : null,
    over ? alertBox("bad", `This release needs epsilon ${amount(wanted.epsilon)}, and ${amount(rest)} is left: it would be refused. Ask for less, or raise the cap.`) : null,
    !over && overDelta ? alertBox("bad", `This release needs delta ${wanted.delta}, and ${found.delta_left} is left: it would be refused. Take a smaller delta, or raise the cap.`) : null,
    counts);
}

export function capDialog(found, wanted = { epsilon: 1, delta: 1e-6 }) {
  const epsilon = h("input", { type: "text", inputmode: "decimal", value: found.epsilon_cap ?? Math.max(3, 3 * wanted.epsilon) });
  const delta = h("input", { type: "text", value: amount(found.delta_cap ?? 10 * wanted.delta) });
  const persons = Boolean(store.project?.table.person) && store.project?.account === found.account;
  return ask(`A cap for ${found.account}`, [
    h("p", {}, "All releases from this account together may spend so much. A later cap replaces an earlier one, and both stay on record."),
    field("Epsilon", epsilon), field("Delta", delta)], [
    { words: "Cancel", act: () => null },
    { words: "Set the cap", main: true, act: async () => {
      const values = { epsilon: Number(epsilon.value), delta: Number(delta.value || 0) };
      if (!(values.epsilon > 0) || !(values.delta >= 0 && values.delta < 1)) throw new Error("Epsilon must be above 0, and delta from 0 to below 1.");
      const kind = persons ? { unit: "person", rows_per_person: store.project.table.rows_per_person } : found.counts ? {} : { adjacency: wanted.adjacency ?? "replace-one" };
      return call("cap", { account: found.account, ...values, ...kind });
    } }]);
}
