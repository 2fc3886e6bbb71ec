// A slider and a number that say the same; and the state of a page in its address, so that it can be shared.

const STEPS = 1000;

function place(value, field) {
  const { scale, min, max } = field.dataset;
  const [low, high] = [Number(min), Number(max)];
  const share = scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(STEPS * Math.min(1, Math.max(0, share)));
}

function value(at, field) {
  const { scale, min, max, digits, whole } = field.dataset;
  const [low, high, share] = [Number(min), Number(max), at / STEPS];
  const raw = scale === "log" ? low * (high / low) ** share : low + (high - low) * share;
  return whole === undefined ? Number(raw.toPrecision(Number(digits) || 3)) : Math.round(raw);
}

// Every [data-slider] holds one input of type range and one of type number.
export function join(field) {
  const range = field.querySelector('input[type="range"]');
  const number = field.querySelector('input[type="number"]');
  Object.assign(range, { min: 0, max: STEPS, step: 1 });
  const follow = () => {
    if (number.value !== "" && Number(number.value) > 0 | field.dataset.scale !== "log") range.value = place(Number(number.value), field);
    range.setAttribute("aria-valuetext", number.value || "none");
  };
  range.addEventListener("input", () => {
    number.value = value(Number(range.value), field);
    range.setAttribute("aria-valuetext", number.value);
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
  number.addEventListener("input", (event) => { if (event.isTrusted) follow(); });
  field.addEventListener("follow", follow);
  follow();
}

export function set(input, text) {
  input.value = text;
  const field = input.closest("[data-slider]");
  if (field) field.dispatchEvent(new Event("follow"));
}

// The number in an input, null when it is empty; what is no number is told here, as JSON has no word for it.
export function valued(input) {
  const text = input.value.trim();
  const found = Number(text);
  if (input.validity.badInput || (text !== "" && !Number.isFinite(found))) {
    const label = input.labels && input.labels[0] ? input.labels[0].textContent.trim() : "An entry";
    throw { message: `${label}: please enter a number.` };
  }
  return text === "" ? null : found;
}

export function number(form, name) {
  return valued(form.elements.namedItem(name));
}

// The state: [name, text] pairs behind the # of the address; it never leaves the browser.
export function read() {
  return new URLSearchParams(location.hash.slice(1));
}

export function write(pairs) {
  const text = new URLSearchParams(pairs.filter(([, value]) => value !== "" && value !== null)).toString();
  history.replaceState(null, "", `#${text}`);
}

// Put the state of the address into the named inputs of a form.
export function restore(form, state = read()) {
  for (const [name, text] of state) {
    const input = form.elements.namedItem(name);
    if (input instanceof RadioNodeList) input.value = text;
    else if (input && input.type === "checkbox") input.checked = text === "1";
    else if (input && input.type !== "file") set(input, text);
  }
}

export function pairs(form) {
  return [...form.elements].filter((input) => input.name && input.type !== "file" && input.name !== "csrf"
    && (input.type !== "radio" || input.checked)).map((input) => [input.name, input.type === "checkbox" ? (input.checked ? "1" : "") : input.value]);
}
