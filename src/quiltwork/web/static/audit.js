// Scores in, a lower bound out. Not live: an audit is asked for once, after everything was chosen.

import { download, post, problem } from "./asking.js";
import { busy, present, refuse, settled } from "./explorer.js";
import { number as said, pairs, restore, write } from "./sliders.js";

const form = document.getElementById("form");
const chosen = document.getElementById("chosen");
const NUMBERS = ["epsilon", "claimed_delta", "mu", "delta", "confidence"];
let sample = null;

function body() {
  const found = new FormData();
  const file = form.elements.scores.files[0];
  if (sample) found.set("scores", sample, "scores.csv");
  else if (file) found.set("scores", file, file.name);
  else return null;
  for (const name of NUMBERS) said(form, name);
  for (const [name, text] of pairs(form)) if (text.trim() !== "") found.set(name, text.trim());
  return found;
}

async function ask() {
  let sent;
  try {
    sent = body();
  } catch (wrong) {
    refuse(wrong);
    return;
  }
  if (!sent) {
    refuse({ message: "Choose a csv file with scores first, or use the example." });
    form.elements.scores.focus();
    return;
  }
  write(pairs(form));
  busy(true);
  form.querySelector("#ask").disabled = true;
  try {
    const answer = await post("/api/explore/audit", sent);
    const found = answer.ok ? await answer.json() : await problem(answer);
    settled();
    const right = answer.ok && !found.problem;
    if (right) present(found.page);
    else refuse(found.problem || found);
    document.getElementById("save").hidden = !right;
  } catch {
    refuse({ message: "The server cannot be reached." });
  } finally {
    busy(false);
    form.querySelector("#ask").disabled = false;
  }
}

form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
form.elements.scores.addEventListener("change", () => { sample = null; chosen.textContent = ""; });
document.getElementById("example").addEventListener("click", async () => {
  const answer = await fetch("/api/explore/audit/example", { credentials: "same-origin" });
  if (!answer.ok) { refuse(await problem(answer)); return; }
  sample = await answer.blob();
  form.elements.scores.value = "";
  chosen.textContent = "The example: 1,000 runs with a record and 1,000 without it, under noise with mu = 2.";
  if (!form.elements.epsilon.value && !form.elements.mu.value) {
    form.elements.epsilon.value = "1";
    form.elements.claimed_delta.value = "1e-5";
  }
});
document.getElementById("save").addEventListener("click", async () => {
  try {
    await download("/api/explore/audit/report", body(), "privacy-audit.html");
  } catch (found) {
    refuse(found);
  }
});
restore(form);
