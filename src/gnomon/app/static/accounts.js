// Step 5: what was spent, what is left, and whether a folder is what its certificate says.
import { call, follow } from "./api.js";
import { amount, balanceCard, capDialog } from "./budget.js";
import { pathField } from "./chooser.js";
import { alertBox, ask, become, button, field, h, plural } from "./dom.js";
import { bar } from "./picture.js";
import { tried } from "./store.js";

export async function accountsView(main, { rest }) {
  const list = h("section", { "aria-label": "Accounts" });
  const one = h("section", { "aria-live": "polite" });
  async function draw() {
    let found;
    try {
      found = await call("accounts");
    } catch (problem) {
      return become(list, alertBox("bad", problem.message));
    }
    return become(list, found.accounts.length
      ? h("div", { class: "accounts" }, found.accounts.map((balance) => h("div", { class: "card" }, balanceCard(balance), h("p", {},
        button("History", () => history(balance.account), { "aria-label": `History of ${balance.account}` }), " ",
        button("Change the cap…", async () => { if (await capDialog(balance)) draw(); }, { "aria-label": `Change the cap of ${balance.account}` })))))
      : h("p", {}, "The ledger has no account yet. An account is opened by its first cap or release."),
    h("p", {}, button("Open an account…", open)), h("p", { class: "note mono" }, `The ledger: ${found.ledger}`));
  }

  async function open() {
    const name = h("input", { type: "text", autocomplete: "off" });
    const made = await ask("Open an account", [h("p", {}, "An account is for one group of people: all releases about them draw on it."), field("Name", name)], [
      { words: "Cancel", act: () => null },
      { words: "Go on", main: true, act: () => { if (!name.value.trim()) throw new Error("Give the account a name."); return name.value.trim(); } }]);
    if (made) await tried(async () => { if (await capDialog(await call("balance", { account: made }))) await draw(); });
  }

  async function history(account) {
    await tried(async () => {
      const found = await call("history", { account });
      become(one, h("div", { class: "card" }, h("h2", {}, `History of ${account}`),
        h("div", { class: "scroller", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["time (UTC)", "entry", "epsilon", "delta", "what"].map((head) => h("th", { scope: "col", class: head === "epsilon" || head === "delta" ? "n" : null }, head)))),
          h("tbody", {}, found.entries.map((entry) => h("tr", {}, h("td", { class: "time" }, entry.time.slice(0, 19).replace("T", " ")), h("td", {}, entry.kind), h("td", { class: "n" }, amount(entry.epsilon)), h("td", { class: "n" }, amount(entry.delta)),
            h("td", { class: "what" }, [entry.method, entry.note, entry.table ? `from ${entry.table}` : "", entry.asked ? `(itself ${entry.asked})` : ""].filter(Boolean).join(" "))))))),
        h("p", { class: "note mono" }, found.hash ? `The chain of these entries ends in ${found.hash}.` : "")));
      one.querySelector("h2").tabIndex = -1;
      one.querySelector("h2").focus();
    });
  }

  become(main, h("h1", {}, "Accounts"),
    h("p", { class: "lead" }, "Budgets add up: everything that was ever released about the same people counts. The ledger is a file of yours, and is not published."),
    list, one, verifyCard());
  await draw();
  if (rest[0]) history(rest[0]);
}

export function verifyCard(path = "") {
  const place = h("div", { "aria-live": "polite" });
  const folder = pathField("Release folder", { purpose: "release", value: path });
  const key = pathField("Public key of whoever should have signed it (if any)", { purpose: "key" });
  const run = button("Verify", async () => {
    run.disabled = true;
    try {
      const last = await follow(await call("verify", { path: folder.input.value.trim(), key: key.input.value.trim() || null }), (now) => {
        if (now.state === "running") become(place, h("p", {}, "Making it again from its measurements…"), bar(now.stages.at(-1)?.share ?? null, "Verifying"));
      });
      become(place, last.error ? alertBox("bad", last.error) : verified(last.result));
    } catch (error) {
      become(place, alertBox("bad", error.message));
    }
    run.disabled = false;
  });
  return h("section", { class: "card", "aria-label": "Verify a folder" }, h("h2", {}, "Is a folder what its certificate says?"), folder, key, h("p", {}, run), place);
}

function verified(found) {
  return h("div", { class: `box ${found.holds ? "good" : "bad"}` },
    h("p", {}, h("strong", {}, "In order. "), `${plural(found.files, "file")}: hashes, schema, ranges of cells and losses agree.`),
    found.replayed ? h("p", {}, "Made again from its measurements, without the table, every byte is the same.") : null,
    h("p", {}, found.signed ? `Signed by the key ${found.signed} (${found.checked ? "the key that was given" : "give a key to check whose it is"}).` : "It is not signed."),
    found.notes.map((one) => h("p", {}, one)), found.holds ? null : h("p", {}, `NOT PRIVATE as declared. ${found.statement}`));
}
