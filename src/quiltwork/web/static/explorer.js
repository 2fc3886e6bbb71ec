// What the explorers share: ask, show, say it, and keep the state in the address.

import { charts, sentence, show } from "./answers.js";
import { Asker } from "./asking.js";
import { figures } from "./charts.js";

const place = (id) => document.getElementById(id);

export function present(page) {
  show(place("answer"), page);
  show(place("rest"), page);
  figures(place("charts"), charts(page.sections));
  if (place("lead")) place("lead").textContent = `${page.title}. ${page.lead}`;
  place("problem").hidden = true;
  place("announce").textContent = sentence(page);
}

export function refuse(problem) {
  const box = place("problem");
  box.replaceChildren();
  const words = document.createElement("p");
  words.textContent = problem.message;
  box.append(words);
  box.hidden = false;
  stale(true);
}

// What is shown belongs to an earlier question: it is dimmed, and says so.
export function stale(is) {
  for (const id of ["answer", "charts", "rest", "change"]) if (place(id)) place(id).classList.toggle("stale", is);
}

export function busy(now) {
  place("state").textContent = now ? "computing …" : "";
  if (!now) return;
  place("answer").setAttribute("aria-busy", "true");
}

export function settled() {
  stale(false);
  place("answer").removeAttribute("aria-busy");
}

export function explorer(address, wait = 60) {
  return new Asker(address, {
    wait,
    busy,
    shown: (answer) => { settled(); present(answer.page); },
    failed: (problem) => { place("answer").removeAttribute("aria-busy"); refuse(problem); },
  });
}
