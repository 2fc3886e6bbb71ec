// A few losses with sliders, composed.

import { explorer, refuse } from "./explorer.js";
import { join, number, read, set, valued, write } from "./sliders.js";

// what each mechanism is called, and its parameters: name, words, usual value, least, most, scale, whole
const KINDS = {
  gaussian: ["Gaussian noise", [["sigma", "Standard deviation, in sensitivities", 10, 0.3, 300, "log"]]],
  laplace: ["Laplace noise", [["scale", "Scale, in sensitivities", 20, 0.3, 300, "log"]]],
  discrete_gaussian: ["Discrete Gaussian noise", [["sigma", "Standard deviation", 10, 0.5, 300, "log"]]],
  discrete_laplace: ["Discrete Laplace noise", [["scale", "Scale", 20, 0.3, 300, "log"]]],
  subsampled: ["Gaussian noise on a random sample", [["sigma", "Standard deviation, in sensitivities", 1, 0.4, 20, "log"], ["rate", "Share that is sampled", 0.01, 0.0005, 1, "log"]]],
  pure: ["Any mechanism with an epsilon", [["epsilon", "Epsilon", 0.1, 0.001, 5, "log"]]],
  approximate: ["Any mechanism with epsilon and delta", [["epsilon", "Epsilon", 0.1, 0.001, 5, "log"], ["delta", "Delta of each", 1e-9, 1e-14, 1e-3, "log"]]],
};
const COUNT = ["count", "Times", 10, 1, 10000, "log", true];

const form = document.getElementById("form");
const list = document.getElementById("losses");
const asker = explorer("/api/explore/tradeoff");

function parameter([name, words, value, least, most, scale, whole], at) {
  const field = document.getElementById("parameter").content.firstElementChild.cloneNode(true);
  const input = field.querySelector('input[type="number"]');
  Object.assign(field.dataset, { scale, min: least, max: most });
  if (whole) field.dataset.whole = "";
  input.id = `loss-${at}-${name}`;
  input.dataset.name = name;
  input.value = value;
  field.querySelector("label").textContent = words;
  field.querySelector("label").htmlFor = input.id;
  field.querySelector('input[type="range"]').setAttribute("aria-label", `${words}, slider`);
  join(field);
  return field;
}

let made = 0;
function add(kind = "gaussian", values = []) {
  const at = made++;
  const box = document.getElementById("loss").content.firstElementChild.cloneNode(true);
  const select = box.querySelector("select");
  select.id = `loss-${at}-kind`;
  box.querySelector("label").htmlFor = select.id;
  for (const [name, [words]] of Object.entries(KINDS)) select.append(new Option(words, name));
  select.value = kind in KINDS ? kind : "gaussian";
  const fill = (given) => {
    const place = box.querySelector(".parameters");
    place.replaceChildren(...[...KINDS[select.value][1], COUNT].map((entry) => parameter(entry, at)));
    place.querySelectorAll('input[type="number"]').forEach((input, index) => { if (given[index]) set(input, given[index]); });
  };
  fill(values);
  select.addEventListener("change", () => { fill([]); ask(true); });
  box.querySelector("[data-remove]").addEventListener("click", () => {
    const next = box.nextElementSibling || box.previousElementSibling;
    box.remove();
    renumber();
    (next ? next.querySelector("select") : document.getElementById("add")).focus();
    ask(true);
  });
  list.append(box);
  renumber();
  return box;
}

function renumber() {
  [...list.children].forEach((box, at) => {
    box.querySelector("legend").textContent = `Mechanism ${at + 1}`;
    box.querySelector("[data-remove]").hidden = list.children.length < 2;
    box.querySelector("[data-remove]").setAttribute("aria-label", `Remove mechanism ${at + 1}`);
  });
  document.getElementById("add").disabled = list.children.length >= Number(form.dataset.most);
}

function losses() {
  return [...list.children].map((box) => {
    const kind = box.querySelector("select").value;
    const said = {};
    for (const input of box.querySelectorAll('input[type="number"]')) said[input.dataset.name] = valued(input);
    const { count, ...values } = said;
    if (kind !== "subsampled") return { [kind]: values, count };
    return { poisson: { rate: values.rate, of: { gaussian: { sigma: values.sigma } } }, count };
  });
}

function yaml(found, delta) {
  const lines = ["quiltwork: 1", "title: A composition", "targets:", `  - {epsilon: 1.0, delta: ${delta}}`, "", "releases:"];
  found.forEach(({ count, ...loss }, at) => {
    const flow = JSON.stringify(loss).slice(1, -1).replace(/"/g, "").replace(/:/g, ": ").replace(/,/g, ", ");
    lines.push(`  - name: mechanism ${at + 1}`, `    ${flow}`, `    count: ${count}`);
  });
  return `${lines.join("\n")}\n`;
}

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
  const found = losses();
  const delta = number(form, "delta");
  const rows = [...list.children].map((box) => [
    "loss", [box.querySelector("select").value, ...[...box.querySelectorAll('input[type="number"]')].map((input) => input.value)].join(","),
  ]);
  write([...rows, ["delta", form.elements.delta.value]]);
  document.getElementById("as-plan").href = `/plan#plan=${encodeURIComponent(yaml(found, delta))}`;
  asker.ask({ losses: found, delta: delta === null ? 1e-6 : delta }, now);
}

function open(state) {
  list.replaceChildren();
  for (const text of state.getAll("loss").slice(0, Number(form.dataset.most))) {
    const [kind, ...values] = text.split(",");
    add(kind, values);
  }
  if (!list.children.length) add();
  if (state.get("delta")) set(form.elements.delta, state.get("delta"));
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", (event) => { if (event.target.tagName !== "SELECT") ask(false); });
document.getElementById("add").addEventListener("click", () => { add("laplace").querySelector("select").focus(); ask(true); });
window.addEventListener("hashchange", () => { open(read()); ask(true); });
form.querySelectorAll(":scope > [data-slider]").forEach(join);
open(read());
ask(true);
