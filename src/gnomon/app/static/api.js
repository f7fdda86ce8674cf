// Every action is one POST to this server; the token stays in this tab and in a header.

const KEY = "gnomon-token";
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname + "#/");
  }
  return sessionStorage.getItem(KEY) !== null;
}

const lost = new Set();
export const whenLost = (tell) => lost.add(tell);

export async function call(action, args = {}, signal) {
  let answer;
  try {
    answer = await fetch(`/api/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Gnomon-Token": sessionStorage.getItem(KEY) ?? "" },
      body: JSON.stringify(args),
      signal,
      cache: "no-store",
      redirect: "error",
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    lost.forEach((tell) => tell("gone"));
    throw new Refused("The server does not answer.", 0);
  }
  if (answer.status === 401) {
    lost.forEach((tell) => tell("token"));
    throw new Refused("The token of this page is not good any more.", 401);
  }
  const body = await answer.json().catch(() => ({ error: `The server refused (${answer.status}).` }));
  if (!answer.ok) throw new Refused(body.error, answer.status);
  lost.forEach((tell) => tell(null));
  return body;
}

// Wait for work under way; `tell` sees every state of it.
export async function follow(job, tell, alive = () => true) {
  let state = job;
  while (true) {
    tell(state);
    if (state.state !== "running" || !alive()) return state;
    await new Promise((next) => setTimeout(next, 350));
    try {
      state = await call("job", { id: job.id });
    } catch (problem) {
      if (problem.status === 400) return { ...state, state: "failed", error: problem.message };
      if (problem.status !== 0) throw problem;
      await new Promise((next) => setTimeout(next, 1500));
    }
  }
}
