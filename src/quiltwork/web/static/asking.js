// Questions to the server while somebody types or moves a slider: the latest one wins.
//
// A question waits until the hand rests for a moment. While an answer is on its way the next question waits for it, but
// not longer than PATIENCE: then the old one is given up. So curves move along, and the server is not flooded.

const PATIENCE = 1500;

export function csrf() {
  return document.querySelector('meta[name="csrf"]').content;
}

// A page that asks live gets what is wrong with a question as an answer; see web/api/live.py.
export async function post(address, body, signal) {
  const headers = { "X-CSRF-Token": csrf(), "X-Live": "yes" };
  const form = body instanceof FormData;
  if (!form) headers["Content-Type"] = "application/json";
  const sent = form ? body : JSON.stringify(body);
  return fetch(address, { method: "POST", headers, body: sent, signal, credentials: "same-origin" });
}

export async function problem(answer) {
  try {
    return await answer.json();
  } catch {
    return { error: "Problem", message: `The server answered with ${answer.status}.`, field: null, line: null };
  }
}

export class Asker {
  // address, and what to do: shown(answer, body), failed(problem), busy(true or false)
  constructor(address, { shown, failed, busy = () => {}, wait = 120 }) {
    Object.assign(this, { address, shown, failed, busy, wait, next: null, flying: null, timer: 0 });
  }

  ask(body, now = false) {
    this.next = { body };
    this.busy(true);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), now ? 0 : this.wait);
  }

  forget() {
    clearTimeout(this.timer);
    this.next = null;
    if (this.flying) this.flying.stop.abort();
    this.busy(false);
  }

  async send() {
    if (!this.next) return;
    if (this.flying) {
      const left = PATIENCE - (performance.now() - this.flying.began);
      if (left > 0) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.send(), left);
        return;
      }
      this.flying.stop.abort();
    }
    const { body } = this.next;
    const mine = { stop: new AbortController(), began: performance.now() };
    this.next = null;
    this.flying = mine;
    try {
      const answer = await post(this.address, body, mine.stop.signal);
      if (answer.status === 429) {
        const seconds = Number(answer.headers.get("Retry-After")) || 1;
        this.next = this.next || { body };
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.send(), 1000 * seconds);
        return;
      }
      const found = answer.ok ? await answer.json() : await problem(answer);
      if (this.flying !== mine) return; // a newer question is on its way
      if (answer.ok && !found.problem) this.shown(found, body);
      else this.failed(found.problem || found, body);
    } catch (error) {
      if (error.name !== "AbortError" && this.flying === mine) {
        this.failed({ error: "Unreachable", message: "The server cannot be reached.", field: null, line: null }, body);
      }
    } finally {
      if (this.flying === mine) {
        this.flying = null;
        if (this.next) this.send();
        else this.busy(false);
      }
    }
  }
}

// Save what the server made as a file.
export async function download(address, body, name) {
  const answer = await post(address, body);
  if (!answer.ok) throw await problem(answer);
  const said = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = said ? said[1] : name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
