// What the server says, laid out block by block: see document/blocks.py. All of it is text, none of it markup.

export function make(tag, words, name) {
  const found = document.createElement(tag);
  if (words !== undefined && words !== null) found.textContent = words;
  if (name) found.className = name;
  return found;
}

export function table(grid) {
  const found = make("table");
  if (grid.caption) found.append(make("caption", grid.caption));
  const head = found.createTHead().insertRow();
  for (const [text, number] of grid.columns) {
    const cell = make("th", text, number ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = found.createTBody();
  for (const row of grid.rows) line(body.insertRow(), row, grid);
  if (grid.foot) line(found.createTFoot().insertRow(), grid.foot, grid);
  return found;
}

function line(row, cells, grid) {
  cells.forEach((given, at) => {
    const said = typeof given === "string" ? { text: given } : given;
    const [name, number] = grid.columns[at];
    const cell = make(at ? "td" : "th", null, [number ? "number" : "", said.tone || ""].join(" ").trim());
    if (!at) cell.scope = "row";
    else if (name) cell.dataset.label = name;
    cell.append(said.strong ? make("strong", said.text) : said.text);
    if (said.note) cell.append(make("small", said.note));
    row.append(cell);
  });
}

const TIGHT = 64; // characters of a table that is not stretched over the page

function width(grid) {
  const said = (given) => (typeof given === "string" ? given : given.text).length;
  return grid.columns.reduce((sum, [name], at) => sum + 4 + Math.max(name.length, ...grid.rows.map((row) => said(row[at]))), 0);
}

export function scrolled(grid) {
  const found = make("div", null, "scroll");
  found.tabIndex = 0; // so that a keyboard can scroll it
  found.setAttribute("role", "group");
  found.setAttribute("aria-label", grid.caption || "A table");
  const inner = table(grid);
  if (grid.columns.length > 2) inner.classList.add("stack"); // cards on a narrow screen
  if (width(grid) <= TIGHT) inner.classList.add("tight"); // numbers near their names on a wide one
  found.append(inner);
  return found;
}

function facts(entries) {
  const list = make("dl", null, "facts");
  for (const entry of entries) {
    const box = make("div");
    const value = make("dd", entry.value, entry.tone);
    if (entry.note) value.append(make("small", entry.note));
    box.append(make("dt", entry.label), value);
    list.append(box);
  }
  return list;
}

function listed(items) {
  const list = make("ul");
  list.append(...items.map((words) => make("li", words)));
  return list;
}

// The elements of blocks; charts and pictures have their own places.
function laid(blocks, level) {
  return blocks.flatMap((block) => {
    if (block.kind === "words") return block.text.split(/\n\s*\n/).map((words) => make("p", words));
    if (block.kind === "bullets") return [listed(block.items)];
    if (block.kind === "code") return [make("pre", block.text)];
    if (block.kind === "facts" || block.kind === "terms") return [facts(block.items)];
    if (block.kind === "grid") return [scrolled(block)];
    if (block.kind === "details") {
      const found = make("details");
      found.append(make("summary", block.summary), ...laid(block.blocks, level));
      return [found];
    }
    if (block.kind !== "section") return [];
    const inner = laid(block.blocks, level + 1);
    if (!inner.length) return [];
    const found = make("section");
    found.append(make(`h${level}`, block.heading), ...inner);
    return [found];
  });
}

// Every chart of a page, in the order of reading.
export function charts(blocks) {
  return blocks.flatMap((block) => (block.kind === "chart" ? [block] : block.blocks ? charts(block.blocks) : []));
}

// Fill the parts of a page: elements with data-part="lead", "glance" (the first section) and "rest" (all others).
export function show(root, page) {
  const fill = (name, ...content) => {
    const part = root.querySelector(`[data-part="${name}"]`);
    if (part) part.replaceChildren(...content);
  };
  const [glance, ...rest] = page.sections;
  fill("lead", page.lead);
  fill("glance", ...(glance ? laid(glance.blocks, 3) : []));
  fill("rest", ...laid(rest, root.id === "rest" ? 2 : 4));
}

// One sentence for those who hear the page.
export function sentence(page) {
  const found = page.sections.length ? page.sections[0].blocks.filter((block) => block.kind === "facts") : [];
  return found.flatMap((block) => block.items).map((entry) => `${entry.label}: ${entry.value} ${entry.note || ""}`).join(". ");
}
