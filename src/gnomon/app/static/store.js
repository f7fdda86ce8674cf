// The project that this tab shows: what the server says of it, and edits one after the other.
import { call } from "./api.js";
import { say } from "./dom.js";

export const store = { project: null, columns: new Map(), order: [] };
const watchers = new Set();
let queue = Promise.resolve();

export function watch(tell) {
  watchers.add(tell);
  return () => watchers.delete(tell);
}

function take(state) {
  if (!state.partial) store.columns = new Map();
  state.columns.forEach((row) => store.columns.set(row.name, row));
  if (state.order) store.order = state.order;
  const { columns, order, ...rest } = state;
  store.project = rest;
  watchers.forEach((tell) => tell());
  return state;
}

export const fill = take;

export async function load(id) {
  if (store.project?.id !== id) {
    store.project = null;
    store.columns = new Map();
  }
  return take(await call("project", { id }));
}

export const rows = () => store.order.map((name) => store.columns.get(name)).filter(Boolean);

// One edit after another, each of the state that the one before left; a stale one shows what is there now.
export function change(action, args) {
  const run = async () => {
    try {
      return take(await call(action, { id: store.project.id, revision: store.project.revision, ...args }));
    } catch (problem) {
      if (problem.status === 409) await load(store.project.id);
      throw problem;
    }
  };
  const done = queue.then(run, run);
  queue = done.catch(() => {});
  return done;
}

export async function tried(work) {
  try {
    return await work();
  } catch (problem) {
    if (problem.name !== "AbortError") say(problem.message);
    return null;
  }
}

// What the page last asked of a budget and a release: kept by the server, so that a reload finds it.
let saving;
export function remember(settings) {
  Object.assign(store.project.settings, settings);
  clearTimeout(saving);
  const id = store.project.id;
  saving = setTimeout(() => call("remember", { id, settings: store.project.settings }).catch(() => {}), 300);
}
