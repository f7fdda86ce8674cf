// A grid for thousands of rows: only those in sight are in the page. Keys as in a spreadsheet.
import { become, button, choice, h, say } from "./dom.js";

const BEYOND = 6; // rows above and below those in sight
const narrow = matchMedia("(max-width: 44rem)");
const height = () => (narrow.matches ? 60 : 38);

// columns: [{ key, title, width, kind: "text"|"choice", options(row), text(row), empty(row), editable(row), list }]
export class Grid {
  constructor({ columns, label, edit, open, paste, undo, selected }) {
    Object.assign(this, { columns, edit, open, onpaste: paste, onundo: undo, onselect: selected });
    this.rows = [];
    this.chosen = new Set();
    this.active = { row: 0, column: 0 };
    this.anchor = 0;
    this.editing = null;
    this.head = h("div", { role: "row", class: "row head", "aria-rowindex": "1" });
    this.inner = h("div", { class: "inner", role: "presentation" });
    this.view = h("div", { class: "scroll", role: "rowgroup" }, this.inner);
    this.root = h("div", { class: "grid", role: "grid", "aria-label": label, "aria-multiselectable": "true" },
      h("div", { role: "rowgroup", class: "heads" }, this.head), this.view);
    this.all = h("input", { type: "checkbox", "aria-label": "Select all columns in view", tabindex: "-1", onchange: () => this.selectAll(this.all.checked) });
    put(this.head, [this.all], "tick");
    columns.forEach((one) => put(this.head, [one.title], one.class ?? one.key));
    this.view.addEventListener("scroll", () => this.later(), { passive: true });
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("focusin", (event) => this.follow(event.target.closest("[data-row]")));
    this.root.addEventListener("paste", (event) => this.pasted(event));
    this.root.addEventListener("copy", (event) => this.copied(event));
    new ResizeObserver(() => this.later()).observe(this.view);
    narrow.addEventListener("change", () => this.draw());

    function put(row, children, kind) {
      row.append(h("div", { role: "columnheader", class: `cell ${kind}` }, children));
    }
  }

  // The rows to show, in order; the selection and the place stay where they can.
  show(rows) {
    const name = this.rows[this.active.row]?.name;
    this.rows = rows;
    const names = new Set(rows.map((row) => row.name));
    for (const one of this.chosen) if (!names.has(one)) this.chosen.delete(one);
    const place = rows.findIndex((row) => row.name === name);
    this.active.row = place >= 0 ? place : Math.min(this.active.row, Math.max(0, rows.length - 1));
    this.root.setAttribute("aria-rowcount", rows.length + 1);
    this.root.setAttribute("aria-colcount", this.columns.length + 1);
    this.draw();
    this.onselect?.();
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const tall = height();
    const first = Math.max(0, Math.floor(this.view.scrollTop / tall) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.view.scrollTop + this.view.clientHeight) / tall) + BEYOND);
    const focused = this.root.contains(document.activeElement) && !this.editing && this.view.contains(document.activeElement);
    this.inner.style.setProperty("height", `${this.rows.length * tall}px`);
    this.view.style.setProperty("--full", `${this.rows.length * tall + 1}px`);
    const kept = this.editing?.row;
    const made = [];
    for (let i = first; i < last; i++) made.push(kept === i ? this.editing.element : this.row(i, tall));
    if (kept !== undefined && kept !== null && (kept < first || kept >= last)) made.push(this.editing.element);
    const inside = this.active.row >= first && this.active.row < last;
    if (!inside && this.rows.length && kept !== this.active.row) made.push(this.row(this.active.row, tall));
    if (this.editing) {
      const old = [...this.inner.children].filter((one) => one !== this.editing.element);
      old.forEach((one) => one.remove());
      made.filter((one) => one !== this.editing.element).forEach((one) => this.inner.append(one));
    } else {
      this.inner.replaceChildren(...made);
    }
    if (focused) this.cell()?.focus({ preventScroll: true });
    const count = this.rows.filter((row) => this.chosen.has(row.name)).length;
    this.all.checked = count > 0 && count === this.rows.length;
    this.all.indeterminate = count > 0 && count < this.rows.length;
  }

  row(i, tall) {
    const row = this.rows[i];
    const picked = this.chosen.has(row.name);
    const made = h("div", { role: "row", class: `row${picked ? " picked" : ""}${row.problem ? " gap" : ""}${row.quiet ? " quiet" : ""}`,
      "aria-rowindex": i + 2, "aria-selected": String(picked), style: { top: `${i * tall}px`, height: `${tall}px` } });
    const tick = h("input", { type: "checkbox", checked: picked, tabindex: "-1", "aria-label": `Select ${row.name}` });
    tick.addEventListener("click", (event) => {
      event.stopPropagation();
      this.pick(i, event.shiftKey);
    });
    made.append(h("div", { role: "gridcell", class: "cell tick" }, tick));
    this.columns.forEach((column, j) => {
      const here = this.active.row === i && this.active.column === j;
      const can = column.editable?.(row);
      const cell = h("div", { role: j ? "gridcell" : "rowheader", class: `cell ${column.class ?? column.key}${can ? "" : " still"}`,
        tabindex: here ? "0" : "-1", "data-row": i, "data-column": j, "aria-readonly": can ? null : "true" });
      become(cell, column.show ? column.show(row) : column.text(row));
      if (!cell.textContent && column.empty) {
        cell.append(h("span", { class: "ghost" }, column.empty(row)));
      }
      cell.addEventListener("click", () => {
        const again = this.active.row === i && this.active.column === j;
        this.go(i, j);
        if (narrow.matches || j === 0) this.open?.(row);
        else if (again && can) this.start();
      });
      cell.addEventListener("dblclick", () => can && this.start());
      made.append(cell);
    });
    return made;
  }

  // The cursor goes where the focus is, however it came there.
  follow(cell) {
    if (!cell || this.editing) return;
    this.cell()?.setAttribute("tabindex", "-1");
    this.active = { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
    cell.setAttribute("tabindex", "0");
  }

  cell() {
    return this.inner.querySelector(`[data-row="${this.active.row}"][data-column="${this.active.column}"]`);
  }

  // Move to a cell and bring it into sight.
  go(row, column, focus = true) {
    this.active = { row: Math.max(0, Math.min(this.rows.length - 1, row)), column: Math.max(0, Math.min(this.columns.length - 1, column)) };
    const tall = height();
    const top = this.active.row * tall;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + tall > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + tall - this.view.clientHeight;
    this.draw();
    if (focus) this.cell()?.focus({ preventScroll: true });
  }

  pick(i, range) {
    const on = !this.chosen.has(this.rows[i].name);
    const [a, b] = range ? [Math.min(i, this.anchor), Math.max(i, this.anchor)] : [i, i];
    for (let k = a; k <= b; k++) {
      if (on || range) this.chosen.add(this.rows[k].name);
      else this.chosen.delete(this.rows[k].name);
    }
    this.anchor = i;
    this.draw();
    this.onselect?.();
  }

  selectAll(on = true) {
    this.rows.forEach((row) => (on ? this.chosen.add(row.name) : this.chosen.delete(row.name)));
    this.draw();
    this.onselect?.();
  }

  // The selected names in the order of the rows, or the one where the cursor stands.
  names() {
    const found = this.rows.filter((row) => this.chosen.has(row.name)).map((row) => row.name);
    return found.length ? found : this.rows[this.active.row] ? [this.rows[this.active.row].name] : [];
  }

  key(event) {
    if (this.editing || event.target.type === "checkbox") return;
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor(this.view.clientHeight / height()) - 1);
    const ctrl = event.ctrlKey || event.metaKey;
    const to = (r, c) => {
      event.preventDefault();
      if (event.shiftKey && r !== row) {
        const [a, b] = [Math.min(row, r), Math.max(row, r)];
        for (let k = Math.max(0, a); k <= Math.min(b, this.rows.length - 1); k++) this.chosen.add(this.rows[k].name);
        this.onselect?.();
      }
      this.go(r, c);
    };
    const moves = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageDown: [row + page, column], PageUp: [row - page, column],
      Home: ctrl ? [0, 0] : [row, 0], End: ctrl ? [this.rows.length - 1, this.columns.length - 1] : [row, this.columns.length - 1],
    };
    if (moves[event.key]) return to(...moves[event.key]);
    if (event.key === " ") {
      event.preventDefault();
      return this.pick(row, event.shiftKey);
    }
    if (ctrl && event.key.toLowerCase() === "a") {
      event.preventDefault();
      this.selectAll();
      return say(`${this.chosen.size} columns selected.`);
    }
    if (ctrl && event.key.toLowerCase() === "z") {
      event.preventDefault();
      return this.onundo(event.shiftKey);
    }
    if (ctrl && event.key.toLowerCase() === "y") {
      event.preventDefault();
      return this.onundo(true);
    }
    if (event.key === "Escape" && this.chosen.size) {
      this.chosen.clear();
      this.draw();
      return this.onselect?.();
    }
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      return this.clear();
    }
    if (event.key === "Enter" || event.key === "F2") {
      event.preventDefault();
      if (column === 0 || narrow.matches) return this.open?.(this.rows[row]);
      return this.start();
    }
    if (event.key.length === 1 && !ctrl && !event.altKey) {
      event.preventDefault();
      this.start(event.key);
    }
  }

  clear() {
    const column = this.columns[this.active.column];
    const row = this.rows[this.active.row];
    if (row && column.editable?.(row) && column.key !== "kind") this.edit([row.name], { [column.key]: null });
  }

  // Edit the cell in its place; a letter that was typed begins the new text.
  start(typed) {
    const { row: i, column: j } = this.active;
    const row = this.rows[i];
    const column = this.columns[j];
    if (!row || !column.editable?.(row)) {
      if (row && j) say(column.why?.(row) ?? "This cell says nothing for a column of this kind.");
      return;
    }
    const cell = this.cell();
    const options = column.options?.(row);
    const old = column.text(row);
    const control = options
      ? choice(options, column.value(row), { "aria-label": `${column.title} of ${row.name}` })
      : h("input", { type: "text", value: typed ?? old, spellcheck: "false", autocomplete: "off", "aria-label": `${column.title} of ${row.name}` });
    become(cell, control);
    this.editing = { row: i, element: cell.parentElement };
    control.focus();
    if (options) try { control.showPicker?.(); } catch { /* only where the browser allows it */ }
    else if (typed === undefined) control.select();
    let over = false;
    const end = (keep, move) => {
      if (over) return;
      over = true;
      const value = control.value;
      const inside = this.root.contains(document.activeElement);
      this.editing = null;
      const changed = keep && value !== (options ? column.value(row) : old);
      if (move) this.go(i + move[0], j + move[1]);
      else {
        this.draw();
        if (inside) this.cell()?.focus({ preventScroll: true });
      }
      if (changed) this.edit(this.chosen.has(row.name) && this.chosen.size > 1 ? this.names() : [row.name], { [column.key]: value.trim() === "" ? null : value });
    };
    control.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !options) end(true, [event.shiftKey ? -1 : 1, 0]);
      else if (event.key === "Enter") end(true);
      else if (event.key === "Tab") end(true, [0, event.shiftKey ? -1 : 1]);
      else if (event.key === "Escape") end(false);
      else return event.stopPropagation();
      event.preventDefault();
      event.stopPropagation();
    });
    control.addEventListener("change", () => options && end(true));
    control.addEventListener("blur", () => end(true));
    control.addEventListener("paste", (event) => {
      if (/[\t\n]/.test(event.clipboardData?.getData("text/plain").trim() ?? "")) {
        over = true;
        this.editing = null;
        this.draw();
        this.pasted(event);
      } else event.stopPropagation();
    });
    control.addEventListener("copy", (event) => event.stopPropagation());
  }

  pasted(event) {
    if (this.editing) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!text.trim()) return;
    event.preventDefault();
    event.stopPropagation();
    this.onpaste(text, this.active);
  }

  copied(event) {
    if (this.editing || !event.clipboardData) return;
    const wanted = new Set(this.names());
    const safe = (text) => {
      const cell = String(text ?? "").replace(/[\t\r\n]+/g, " ");
      return /^[\s'"]*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(cell) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell) ? `'${cell}` : cell;
    };
    const lines = this.rows.filter((row) => wanted.has(row.name)).map((row) => this.columns.slice(0, -1).map((one) => safe(one.text(row))).join("\t"));
    event.clipboardData.setData("text/plain", [this.columns.slice(0, -1).map((one) => one.key).join("\t"), ...lines].join("\n"));
    event.preventDefault();
    say(`${lines.length} columns copied; a spreadsheet takes them.`);
  }
}

export const smallButton = (words, act, props) => button(words, act, { class: "small", ...props });
