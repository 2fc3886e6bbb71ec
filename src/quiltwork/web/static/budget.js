// The page of one budget: its chart, the live forecast, spending without leaving the page, and news from others.

import { make } from "./answers.js";
import { Asker, post, problem } from "./asking.js";
import { draw } from "./charts.js";
import { announce, every, renew } from "./site.js";

const TURN = 4; // seconds between two looks at the balance
const MANY = 60; // points from which on marks are left out

const balance = document.getElementById("balance");
const form = document.getElementById("release-form");
const asked = new URLSearchParams({ name: balance.dataset.name });
if (balance.dataset.block) asked.set("block", balance.dataset.block);

// Six digits, rounded up: true after "at most".
function atMost(value) {
  const near = Number(value.toPrecision(6));
  if (near >= value) return String(near);
  const step = 10 ** (Math.floor(Math.log10(value)) - 5);
  return String(Number((near + step).toPrecision(6)));
}

function box(found) {
  const place = make("div", null, `message ${found.tone || "bad"}`);
  const title = make("p");
  title.append(make("strong", found.title || "That did not work."));
  place.append(title);
  if (found.text || found.message) place.append(make("p", found.text || found.message));
  return place;
}

function say(place, found) {
  place.replaceChildren(box(found));
}

// The chart of what was spent over time.
async function course() {
  const place = document.getElementById("course-chart");
  const answer = await fetch(`/api/course?${new URLSearchParams({ name: place.dataset.name })}`, { credentials: "same-origin" });
  if (!answer.ok) {
    say(place, await problem(answer));
    return;
  }
  const found = await answer.json();
  const times = found.times.map((time) => time.slice(0, 19).replace("T", " "));
  const now = new Date().toISOString().slice(0, 19).replace("T", " ");
  const end = now > times.at(-1) ? now : times.at(-1);
  const texts = found.spent.map((spent, at) => `${times[at]} UTC: at most ${atMost(spent)}`);
  const spent = {
    kind: "steps", name: "spent", role: "accent", under: true, marks: times.length <= MANY,
    x: [...times, end], y: [...found.spent, found.spent.at(-1)], texts: [...texts, `now: at most ${atMost(found.spent.at(-1))}`],
  };
  const limit = { kind: "lines", name: "limit", role: "bad", dash: "dash", x: [times[0], end], y: [found.limit, found.limit] };
  const changes = found.changes.length ? [{
    kind: "points", name: "paused, resumed or closed", role: "muted", symbol: "diamond",
    x: found.changes.map((one) => one.time.slice(0, 19).replace("T", " ")), y: found.changes.map(() => 0),
    texts: found.changes.map((one) => `${one.time.slice(0, 19).replace("T", " ")} UTC: ${one.word}`),
  }] : [];
  await draw(place, {
    name: "course", title: "What was spent of the budget over time",
    x: { title: "", scale: "date" }, y: { title: found.unit, low: 0, high: 1.08 * found.limit },
    traces: [spent, limit, ...changes],
  });
  const body = document.querySelector("#course-table tbody");
  body.replaceChildren(...times.map((time, at) => {
    const row = make("tr");
    row.append(make("td", time, "time"), make("td", atMost(found.spent[at]), "number"));
    return row;
  }));
}

// What others did: the balance is small, the page is asked for only when it changed.
let known = null;
async function look(mine = false) {
  const answer = await fetch(`/api/balance?${asked}`, { credentials: "same-origin" });
  if (answer.status === 401) {
    say(document.getElementById("message"), { tone: "warn", title: "You are signed out.", text: "What is shown here gets no newer. Load the page again to sign in." });
    return false;
  }
  if (!answer.ok) return true;
  const found = await answer.json();
  const text = JSON.stringify(found);
  const changed = known !== null && text !== known;
  known = text;
  if (!changed && !mine) return true;
  await renew();
  await course();
  if (form) forecast(true);
  if (!mine) announce(`The budget changed: ${found.explanation[0]}`);
  return true;
}

// How many more fit, while the numbers are typed.
const place = document.getElementById("forecast");
const asker = new Asker("/budget/forecast", {
  shown: (found) => say(place, found),
  failed: (found) => say(place, found),
  busy: (busy) => place.classList.toggle("stale", busy),
  wait: 300,
});

function forecast(now = false) {
  asker.ask(new FormData(form), now);
}

async function spend(button) {
  const answered = document.getElementById("spent");
  button.disabled = true;
  try {
    const answer = await post("/budget/spend", new FormData(form));
    const found = await problem(answer); // words of the same shape whether it was done or refused
    say(answered, found);
    if (found.done) {
      form.elements.once.value = found.once;
      form.elements.key.value = "";
      await look(true);
    }
  } catch {
    say(answered, {
      tone: "bad", title: "The server cannot be reached.",
      text: "It is not known whether this was spent. Press Spend once more: the same release is not spent twice.",
    });
  } finally {
    button.disabled = false;
  }
}

document.getElementById("forecast-button").closest(".actions").hidden = true; // the answer is live
form.addEventListener("input", (event) => {
  if (!["times", "note", "key"].includes(event.target.name)) forecast();
});
form.addEventListener("change", (event) => { if (event.target.matches("select")) forecast(true); });
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.submitter;
  if (button && button.id === "spend-button") spend(button);
  else forecast(true);
});

const verify = document.getElementById("verify-form");
verify.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answered = document.getElementById("verified");
  const button = event.submitter || verify.querySelector("button");
  button.disabled = true;
  answered.textContent = "Walking the chain ...";
  try {
    say(answered, await problem(await post("/budget/verify", new FormData(verify))));
  } catch {
    say(answered, { tone: "bad", title: "The server cannot be reached." });
  } finally {
    button.disabled = false;
  }
});

forecast(true);
look();
every(TURN, look);
// Plotly comes as a plain script of some megabytes: only the chart waits for it
if (window.Plotly) course();
else window.addEventListener("load", () => course());
