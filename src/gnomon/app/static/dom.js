// Elements from plain values: text is always text, whatever a name in a table says.

// controls, and marks that turn the direction of the text after them: a name must not rewrite the page around it
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const SVG = "http://www.w3.org/2000/svg";

export const shown = (text) => String(text).replace(STEERING, "\ufffd");

function filled(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "indeterminate") element[key] = value;
    else if (key === "style") Object.entries(value).forEach(([name, one]) => element.style.setProperty(name, one));
    else element.setAttribute(key, value === true ? "" : shown(value));
  }
  put(element, ...children);
  return element;
}

export const h = (tag, props, ...children) => filled(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => filled(document.createElementNS(SVG, tag), props, children);

// Append children: nodes, texts, lists of them; nothing for null and false.
export function put(element, ...children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

export function become(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

// The same for a part that is drawn again and again: the focus stays on the control with the same words.
export function renew(element, ...children) {
  const words = (one) => one.getAttribute("aria-label") ?? one.textContent.replace(/[\d,.]+$/, "");
  const old = element.contains(document.activeElement) ? words(document.activeElement) : null;
  become(element, ...children);
  if (old === null) return;
  const controls = [...element.querySelectorAll("button, a, summary, input, select")].filter((one) => !one.disabled);
  (controls.find((one) => words(one) === old) ?? controls[0])?.focus({ preventScroll: true });
}

let count = 0;
export const fresh = (word) => `${word}-${++count}`;

// A labelled control; notes (texts) are read with it, and elements stand beside it.
export function field(label, control, ...more) {
  const id = control.id || fresh("f");
  control.id = id;
  const note = more.filter((one) => typeof one === "string").join(" ");
  const parts = [h("label", { for: id }, label), control, more.filter((one) => one instanceof Node)];
  if (note) {
    const said = h("p", { class: "note", id: `${id}-note` }, note);
    control.setAttribute("aria-describedby", said.id);
    parts.push(said);
  }
  return h("div", { class: "field" }, parts);
}

export function choice(options, value, props) {
  return h("select", props, options.map(([key, words]) => {
    const one = h("option", { value: key }, words);
    one.selected = key === value;
    return one;
  }));
}

export const button = (words, onclick, props) => h("button", { type: "button", onclick, ...props }, words);
export const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many ?? `${one}s`}`;

let quiet;
export function say(words) {
  const place = document.getElementById("said");
  become(place, h("p", {}, words));
  clearTimeout(quiet);
  quiet = setTimeout(() => place.replaceChildren(), 8000);
}

// A modal dialog: Escape and the close button give null; buttons give what they return.
export function ask(title, body, buttons, props) {
  return new Promise((resolve) => {
    const id = fresh("d");
    const problem = h("p", { class: "problem", role: "alert" });
    let answer = null;
    const act = (make) => async (event) => {
      event?.preventDefault();
      become(problem);
      try {
        const found = await make();
        if (found === undefined) return;
        answer = found;
        box.close();
      } catch (error) {
        become(problem, error.message);
      }
    };
    const first = buttons.find((one) => one.main);
    const form = h("form", { method: "dialog", onsubmit: first ? act(first.act) : null, novalidate: true },
      h("header", {}, h("h2", { id }, title),
        button("×", () => box.close(), { class: "close", "aria-label": "Close" })),
      h("div", { class: "inside" }, body, problem),
      h("footer", {}, buttons.map((one) =>
        one.main
          ? h("button", { type: "submit", class: one.danger ? "main danger" : "main" }, one.words)
          : button(one.words, act(one.act), { class: one.danger ? "danger" : null }))));
    const box = h("dialog", { "aria-labelledby": id, ...props }, form);
    const back = document.activeElement;
    box.addEventListener("close", () => {
      box.remove();
      if (back?.isConnected) back.focus();
      resolve(answer);
    });
    document.body.append(box);
    box.showModal();
    box.querySelector("[autofocus]")?.focus();
  });
}

export const confirm = (title, body, words, props) =>
  ask(title, body, [{ words: "Not now", act: () => null }, { words, main: true, act: () => true, ...props }]);

export function alertBox(kind, ...children) {
  return h("div", { class: `box ${kind}`, role: kind === "bad" ? "alert" : null }, children);
}
