// An explorer with sliders, or with a file of one's own instead of them.

import { explorer, refuse } from "./explorer.js";
import { join, number, pairs, read, restore, write } from "./sliders.js";

// numbers: inputs that are sent as numbers; sliders: those that a file replaces; file: the textarea's name
export function start(address, { numbers, sliders, file }) {
  const form = document.getElementById("form");
  const group = document.getElementById("sliders");
  const text = form.elements.namedItem(file);
  const examples = JSON.parse(document.getElementById("examples").textContent);
  const asker = explorer(address);
  form.querySelectorAll("[data-slider]").forEach(join);

  function ask(now) {
    try {
      send(now);
    } catch (wrong) {
      if (!wrong.message || wrong instanceof Error) throw wrong;
      asker.forget();
      refuse(wrong);
    }
  }

  function send(now) {
    const own = text.value.trim() !== "";
    group.disabled = own;
    const asked = {};
    const touched = new Set(form.dataset.touched ? form.dataset.touched.split(" ") : []);
    for (const name of numbers) {
      if (own && (sliders.includes(name) || !touched.has(name))) continue; // a file has a target of its own
      asked[name] = number(form, name);
    }
    if (own) asked[file] = text.value;
    const state = pairs(form).filter(([name]) => name !== file || text.value.length < 4000);
    write(state);
    asker.ask(asked, now);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const touched = new Set((form.dataset.touched || "").split(" ").filter(Boolean));
    if (event.target.name) touched.add(event.target.name);
    form.dataset.touched = [...touched].join(" ");
    ask(false);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(true);
  });
  form.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (example) text.value = examples.find((one) => one.name === example.dataset.example).text;
    if (event.target.closest("[data-clear]")) text.value = "";
    if (example || event.target.closest("[data-clear]")) {
      form.dataset.touched = "";
      ask(true);
    }
  });
  window.addEventListener("hashchange", () => { restore(form); ask(true); });
  restore(form, read());
  if (text.value.trim()) form.querySelector("details.own").open = true;
  ask(true);
}
