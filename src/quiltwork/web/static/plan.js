// An editor with the certified answer beside it.

import { charts, sentence, show } from "./answers.js";
import { Asker, download } from "./asking.js";
import { figures } from "./charts.js";
import { busy, present, settled, stale } from "./explorer.js";
import { read, valued } from "./sliders.js";

const place = (id) => document.getElementById(id);
const text = place("text");
const examples = JSON.parse(place("examples").textContent);
const DRAFT = "quiltwork plan", BEFORE = "quiltwork plan before";
let before = sessionStorage.getItem(BEFORE);
let wrong = 0; // the line of the mistake

// ---- the editor

function number() {
  const count = text.value.split("\n").length;
  const lines = place("lines");
  lines.replaceChildren();
  for (let line = 1; line <= count; line += 1) {
    if (line !== wrong) { lines.append(`${line}\n`); continue; }
    const mark = document.createElement("b");
    mark.textContent = line;
    lines.append(mark);
  }
  lines.scrollTop = text.scrollTop;
}

function go() {
  const starts = text.value.split("\n").slice(0, wrong - 1).join("\n").length + (wrong > 1 ? 1 : 0);
  const end = text.value.indexOf("\n", starts);
  text.focus();
  text.setSelectionRange(starts, end < 0 ? text.value.length : end);
  const height = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (wrong - 4) * height);
}

function mistaken(problem) {
  wrong = Math.min(problem.line || 0, text.value.split("\n").length);
  place("mistake-words").textContent = problem.message;
  place("mistake").hidden = false;
  place("go").parentElement.hidden = !wrong;
  place("go").textContent = wrong ? `Go to line ${wrong}` : "";
  text.setAttribute("aria-invalid", "true");
  text.setAttribute("aria-describedby", "mistake-words keys");
  stale(true);
  number();
}

function right() {
  wrong = 0;
  place("mistake").hidden = true;
  text.removeAttribute("aria-invalid");
  text.setAttribute("aria-describedby", "keys");
  number();
}

// ---- the answer

const asker = new Asker("/api/account", {
  wait: 300,
  busy,
  shown: (answer) => {
    settled();
    right();
    present(answer.page);
    place("says").textContent = answer.page.title;
    place("lead").textContent = answer.page.lead;
    place("downloads").hidden = false;
    compare();
  },
  failed: (problem) => {
    place("answer").removeAttribute("aria-busy");
    mistaken(problem);
  },
});

const changes = new Asker("/api/diff", {
  wait: 0,
  shown: (answer) => {
    place("change").hidden = false;
    show(place("change"), answer.page);
    figures(place("change-charts"), charts(answer.page.sections));
    place("announce").textContent += `. Against the baseline: ${sentence(answer.page)}`;
  },
  failed: (problem) => {
    place("change").hidden = false;
    figures(place("change-charts"), []);
    show(place("change"), { title: "", lead: problem.message, sections: [] });
  },
});

const delta = () => valued(place("delta"));

function ask(now) {
  sessionStorage.setItem(DRAFT, text.value);
  try {
    asker.ask({ plan: text.value, delta: delta() }, now);
  } catch (wrong) {
    if (!wrong.message || wrong instanceof Error) throw wrong;
    asker.forget();
    mistaken(wrong);
  }
}

function compare() {
  place("change").hidden = before === null;
  if (before !== null) changes.ask({ before, after: text.value, delta: delta() }, true);
}

// ---- what the hands do

text.addEventListener("input", () => { number(); ask(false); });
text.addEventListener("scroll", () => { place("lines").scrollTop = text.scrollTop; });
new ResizeObserver(number).observe(text);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(true); }
});
place("delta").addEventListener("input", () => ask(false));
place("ask").addEventListener("click", () => ask(true));
place("go").addEventListener("click", go);
place("example").addEventListener("change", () => {
  const found = examples.find((one) => one.name === place("example").value);
  if (!found) return;
  text.value = found.text;
  text.scrollTop = 0;
  place("example").value = "";
  number();
  ask(true);
});
place("keep").addEventListener("click", () => {
  before = text.value;
  sessionStorage.setItem(BEFORE, before);
  place("announce").textContent = "Kept. Change the file to see what the change costs.";
  compare();
});
place("drop").addEventListener("click", () => {
  before = null;
  sessionStorage.removeItem(BEFORE);
  compare();
  place("keep").focus();
});
place("link").addEventListener("click", async () => {
  const state = new URLSearchParams([["plan", text.value], ...(place("delta").value ? [["delta", place("delta").value]] : [])]);
  history.replaceState(null, "", `#${state}`);
  try {
    await navigator.clipboard.writeText(location.href);
    place("state").textContent = "the link is copied";
  } catch {
    place("state").textContent = "the link stands in the address";
  }
});
for (const button of place("downloads").querySelectorAll("[data-format]")) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await download("/api/report", { plan: text.value, delta: delta(), format: button.dataset.format }, `report.${button.dataset.format}`);
    } catch (problem) {
      mistaken(problem);
    } finally {
      button.disabled = false;
    }
  });
}

function open() {
  const state = read();
  text.value = state.get("plan") || sessionStorage.getItem(DRAFT) || examples[0].text;
  if (state.get("delta")) place("delta").value = state.get("delta");
  number();
  ask(true);
}
window.addEventListener("hashchange", open);
open();
