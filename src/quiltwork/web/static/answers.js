// What the server says, laid out: facts, verdicts, tables, sections and warnings. All of it is text, none of it markup.

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
  for (const column of grid.columns) {
    const cell = make("th", column.text, column.number ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = found.createTBody();
  grid.rows.forEach((row, at) => line(body.insertRow(), row, grid, at === grid.strong));
  if (grid.foot) line(found.createTFoot().insertRow(), grid.foot, grid, false);
  return found;
}

function line(row, cells, grid, strong) {
  cells.forEach((text, at) => {
    const cell = make(at ? "td" : "th", null, grid.columns[at] && grid.columns[at].number ? "number" : "");
    if (!at) cell.scope = "row";
    else if (grid.columns[at] && grid.columns[at].text) cell.dataset.label = grid.columns[at].text;
    cell.append(strong ? make("strong", text) : text);
    row.append(cell);
  });
}

export function scrolled(grid) {
  const found = make("div", null, "scroll");
  found.tabIndex = 0; // so that a keyboard can scroll it
  found.setAttribute("role", "group");
  found.setAttribute("aria-label", grid.caption || "A table");
  const inner = table(grid);
  if (grid.columns.length > 2) inner.className = "stack"; // cards on a narrow screen
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

function verdicts(entries) {
  const list = make("ul", null, "verdicts");
  for (const entry of entries) {
    const item = make("li");
    item.append(make("span", entry.word, `tag ${entry.tone}`), ` ${entry.goal}; ${entry.note}`);
    list.append(item);
  }
  return list;
}

function section(entry) {
  const found = make("section");
  found.append(make("h2", entry.heading));
  if (entry.bullets) {
    const list = make("ul");
    list.append(...entry.lines.map((words) => make("li", words)));
    found.append(list);
  } else {
    found.append(...entry.lines.map((words) => make("p", words)));
  }
  return found;
}

// Fill the parts of a page: elements with data-part="title", "lead", "facts", "verdicts", "warnings", "tables", "sections".
export function show(root, page) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const fill = (name, ...content) => part(name) && part(name).replaceChildren(...content);
  fill("title", page.title);
  fill("lead", page.lead);
  fill("facts", facts(page.facts));
  fill("verdicts", ...(page.verdicts.length ? [verdicts(page.verdicts)] : []));
  fill("warnings", ...page.warnings.map((words) => {
    const box = make("div", null, "message warn");
    box.append(make("p", words));
    return box;
  }));
  fill("tables", ...page.tables.map(scrolled));
  fill("sections", ...page.sections.map(section));
}

// One sentence for those who hear the page.
export function sentence(page) {
  return page.facts.map((entry) => `${entry.label}: ${entry.value} ${entry.note}`).concat(
    page.verdicts.map((entry) => `target ${entry.goal}: ${entry.word}`)).join(". ");
}
