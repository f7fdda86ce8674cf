// Step 4: spend the budget, watch it, stop it, resume it; then the report, the folder, and what it is worth.
import { call, follow } from "./api.js";
import { amount, balanceCard, settings } from "./budget.js";
import { pathField } from "./chooser.js";
import { alertBox, become, button, choice, confirm, field, h, plural } from "./dom.js";
import { bar, guesses } from "./picture.js";
import { remember, store } from "./store.js";

export async function releaseView(main) {
  const now = settings();
  if (store.project.table.person) now.adjacency = "add-remove";
  const progress = h("section", { "aria-label": "Progress" });
  const result = h("section", { "aria-label": "The release" });
  const form = h("section", { class: "card", "aria-label": "The release to be made" });
  let left = false;
  const leaving = []; // what to end when the view is left

  if (store.project.gaps || store.project.general.length) {
    become(main, h("h1", {}, "The schema is not complete yet"), alertBox("warn", `${plural(store.project.gaps || store.project.general.length, "gap")} to be completed first. `, h("a", { href: `#/p/${store.project.id}/schema` }, "Complete the schema")));
    return undefined;
  }

  let methods = [["auto", "auto: gnomon chooses"]];
  let balance = null;
  let trouble = null;
  try {
    const [plan, found] = await Promise.all([
      call("plan", { id: store.project.id, epsilon: now.epsilon, delta: now.delta, adjacency: now.adjacency }), call("balance", { account: store.project.account })]);
    methods = [["auto", `auto: ${plan.auto}`], ...plan.methods.map((one) => [one.method, one.method])];
    balance = found;
  } catch (problem) {
    trouble = problem.message;
  }

  const folder = store.project.data.path?.replace(/[\\/][^\\/]*$/, "") ?? store.project.schema_path.replace(/[\\/][^\\/]*$/, "");
  const title = (store.project.table.name ?? "table").replace(/[^\w.-]+/g, "-").slice(0, 60) || "table";
  const note = h("div", {});
  const out = pathField("The release folder, which must not exist", { purpose: "folder", folders: true, value: now.out ?? `${folder}/${title}-release`, changed: soon });
  const method = choice(methods, now.method ?? "auto");
  const count = h("input", { type: "text", inputmode: "numeric", value: now.rows ?? "", placeholder: "as many as were read" });
  const format = choice([["parquet", "Parquet"], ["csv", "CSV"]], now.format ?? "parquet");
  const share = h("input", { type: "text", inputmode: "decimal", value: now.holdout ?? "", placeholder: "none, or a share such as 0.2" });
  const strict = h("input", { type: "checkbox", id: "strict", checked: now.strict === true });
  const useless = h("input", { type: "checkbox", id: "useless" });
  const problem = h("div", {});
  const go = button("Make the release", begin, { class: "main" });

  // after a pause in typing: nothing moves under a click on the button below
  let looking;
  function soon() {
    clearTimeout(looking);
    looking = setTimeout(look, 300);
  }
  out.input.addEventListener("input", soon);

  async function look() {
    try {
      const found = await call("place", { out: out.input.value });
      if (left || form.hidden) return;
      if (balance) become(money, balanceCard(balance, found.resumes ? null : now));
      become(note, found.error ? alertBox("bad", found.error) : found.resumes ? alertBox("good", "A release into this folder was cut short. With the same settings it goes on where it was, without another charge.") : null);
      become(go, found.resumes ? "Resume the release" : "Make the release");
    } catch (error) {
      become(note, alertBox("bad", error.message));
    }
  }

  async function begin() {
    become(problem);
    const rows = count.value.trim() === "" ? null : Number(count.value.replace(/[ ,_]/g, ""));
    if (rows !== null && (!Number.isInteger(rows) || rows < 1)) return become(problem, alertBox("bad", "The number of rows must be a whole number, or left empty."));
    const holdout = share.value.trim() === "" ? null : Number(share.value.replace(",", "."));
    if (holdout !== null && !(holdout > 0 && holdout < 1)) return become(problem, alertBox("bad", "The share that is kept back must lie between 0 and 1, or be left empty."));
    const wanted = { holdout, epsilon: now.epsilon, delta: now.delta, adjacency: now.adjacency, out: out.input.value.trim(), method: method.value, rows, format: format.value, strict: strict.checked, even_if_useless: useless.checked };
    remember(wanted);
    go.disabled = true;
    try {
      await watchJob(await call("release", { id: store.project.id, ...wanted }));
    } catch (error) {
      become(problem, alertBox("bad", error.message));
    }
    go.disabled = false;
    return undefined;
  }

  async function watchJob(job) {
    form.hidden = true;
    become(result);
    const last = await follow(job, drawProgress, () => !left);
    if (left) return;
    if (last.state === "done") {
      become(progress);
      await drawResult(result, last, () => left, leaving);
    } else {
      form.hidden = false;
      const title_ = last.state === "stopped" ? null : "No release was made. ";
      become(progress, alertBox(last.state === "stopped" ? "warn" : "bad", title_ ? h("strong", {}, title_) : null, last.error), last.notes.map((one) => alertBox("warn", one)));
      balance = await call("balance", { account: store.project.account }).catch(() => balance);
      await look();
    }
  }

  function drawProgress(job) {
    const head = progress.querySelector("h2");
    const stages = job.stages.map((stage, i) => h("li", { class: i < job.stages.length - 1 || stage.share === 1 ? "over" : "now" }, h("span", {}, stage.name), bar(stage.share, `${stage.name}: progress`)));
    const passes = Math.max(0, job.passes - job.stages.length);
    const list = h("ol", { class: "stages" }, stages, !job.stages.length ? h("li", { class: "now" }, h("span", {}, "waiting to begin"), bar(null, "Waiting")) : null);
    const status = h("p", { class: "note" }, passes ? `At most ${plural(passes, "pass", "passes")} over the rows to come.` : "The last steps.", " ", job.charged ? h("strong", {}, "The budget is charged.") : "Nothing is charged yet.");
    if (!head) {
      become(progress, h("div", { class: "card" }, h("h2", {}, "The release is being made"), h("div", { class: "live" }), h("p", {}, button("Stop…", () => stop(job.id), { class: "danger" }))));
    }
    become(progress.querySelector(".live"), list, status, job.notes.map((one) => alertBox("warn", one)), job.stopping ? h("p", {}, "Stopping at the next step…") : null);
  }

  async function stop(id) {
    const job = await call("job", { id });
    const cost = job.charged
      ? "The budget of this release is charged already, and stopping does not give it back. A model release can be resumed later with the same settings, without another charge."
      : "Nothing is charged yet: stopping now costs nothing.";
    if (await confirm("Stop the release?", h("p", {}, cost), "Stop it", { danger: true })) await call("stop", { id }).catch(() => {});
  }

  const money = h("div", {}, balance ? balanceCard(balance, now) : null);
  become(form, h("h2", {}, "What will be made"),
    h("p", {}, `Epsilon ${now.epsilon}, ${now.delta ? `delta ${amount(now.delta)}` : "pure (delta 0)"}, from the account ${store.project.account}. `, h("a", { href: `#/p/${store.project.id}/budget` }, "Change the budget")),
    trouble ? alertBox("bad", trouble) : null, money, out, note,
    h("details", {}, h("summary", {}, "Method, number of rows, format"),
      h("div", { class: "columns-2" }, field("Method", method), field("Rows to publish", count), field("Format", format), field("Rows kept back to test on", share, "They stay beside the release, readable by you alone, and are not released."),
        h("div", { class: "field flag" }, strict, h("label", { for: "strict" }, "Strict: refuse a table with cells that do not fit"), h("p", { class: "note" }, "The promise is then for tables that fit, and says so.")),
        h("div", { class: "field flag" }, useless, h("label", { for: "useless" }, "Make it even if nothing would be left"), h("p", { class: "note" }, "Otherwise a release whose every column would be lost is refused before the charge.")))),
    problem, h("p", {}, go));
  become(main, h("h1", {}, "Make the release"),
    h("p", { class: "lead" }, "Everything public is checked first; then the budget is charged; only then is anything measured. A refusal writes nothing and charges nothing."),
    progress, result, form);
  look();
  const running = (await call("hello")).running.find((one) => one.kind === "release" && one.project === store.project.id);
  if (running) watchJob(running);
  else if (now.out) await already(now.out);

  // After a reload: the release that was made before.
  async function already(path) {
    try {
      const found = await call("open_folder", { path });
      become(result, h("h2", {}, "Made before"), releaseCard(found));
      const frame = await reportFrame(found.id);
      put(result, frame, worth(found.path, leaving));
    } catch { /* none there yet */ }
  }
  const put = (place, ...parts) => parts.forEach((one) => place.append(one));
  return () => {
    left = true;
    leaving.forEach((end) => end());
  };
}

async function drawResult(place, job, gone, leaving) {
  const made = job.result;
  const found = await call("open_folder", { path: made.out });
  if (gone()) return;
  become(place,
    h("div", { class: "box good", role: "status" }, h("h2", {}, "The release is made"), h("p", {}, `${made.rows.toLocaleString("en")} rows, ${plural(made.columns, "column")}, by ${made.method}. The whole folder may be published:`), h("p", { class: "mono path" }, made.out)),
    job.notes.map((one) => alertBox("warn", one)),
    releaseCard({ ...found, ...made }),
    h("p", {}, h("strong", {}, made.balance.words)),
    await reportFrame(found.id),
    worth(made.out, leaving, made.holdout));
  place.querySelector("h2").tabIndex = -1;
  place.querySelector("h2").focus();
}

export function releaseCard(found) {
  return h("div", { class: "card promise" },
    h("div", {}, h("p", { class: "epsilon" }, `ε = ${found.epsilon}`, h("small", {}, Number(found.delta) ? `δ = ${amount(Number(found.delta))}` : "pure")), h("p", { class: "note" }, `for ${found.protects}`)),
    h("div", {}, found.holds ? [guesses(found.guess), h("p", {}, `Of two versions that are equally likely, nobody names the true one more than ${found.guess_words} of the time. ${found.trade_off}`)] : alertBox("bad", h("strong", {}, "Not private as declared. "), found.statement),
      found.weak.map((one) => alertBox("warn", one)),
      h("p", {}, button("Certificate", async () => {
        const { ask } = await import("./dom.js");
        const { text } = await call("certificate", { id: found.id });
        await ask("certificate.yaml", h("pre", { tabindex: "0", class: "code" }, text), [{ words: "Close", main: true, act: () => true }], { class: "wide" });
      }))));
}

export async function reportFrame(id) {
  const { address } = await call("view_report", { id });
  return h("figure", { class: "report" }, h("figcaption", {}, "report.html of the release"), h("iframe", { src: address, title: "The report of the release", sandbox: "" }));
}

// What the release is worth beside real rows: a stamped page, because it compares with them.
function worth(out, leaving, holdout = null) {
  const place = h("div", {});
  let running = null;
  const stop = () => running && call("stop", { id: running }).catch(() => {});
  leaving.push(stop); // nobody would see it any more, and a release would wait for it
  const test = pathField("Real rows that were not released", { purpose: "table", value: "", note: holdout ? `Empty: those that were kept back, in ${holdout}.` : "A table of the same columns, held out before the release." });
  const run = button("Compare", async () => {
    run.disabled = true;
    try {
      const job = await call("evaluate", { id: store.project.id, release: out, test: test.input.value.trim() || null });
      running = job.id;
      const done = h("div", {});
      become(place, h("p", {}, "Training and testing…"), done, h("p", {}, button("Stop", stop, { "aria-label": "Stop the comparison" })));
      const last = await follow(job, (now) => become(done, bar(now.stages.at(-1)?.share ?? null, "Training and testing")));
      running = null;
      if (last.state === "stopped") become(place, alertBox("warn", last.error));
      else if (last.error) become(place, alertBox("bad", last.error));
      else {
        const { address } = await call("view_job", { id: job.id });
        become(place, h("div", { class: "stamped" }, h("p", { class: "stamp" }, last.result.stamp), h("p", {}, last.result.summary), h("iframe", { src: address, title: "The evaluation: compares with the real data, not for release", sandbox: "" })));
      }
    } catch (error) {
      become(place, alertBox("bad", error.message));
    }
    run.disabled = false;
  });
  return h("details", { class: "card worth" }, h("summary", {}, "What is it worth? Compare it with real rows, for your eyes only"), test, h("p", {}, run), place);
}
