// Charts as the server describes them, drawn with Plotly in the colours of the page.
//
// A chart is {name, title, x, y, traces, table}; see document/blocks.py. No number is rounded here: what a pointer shows
// are texts of the server.

import { table } from "./answers.js";

const drawn = new Map(); // element -> chart, to draw again when the theme changes
const COLOURS = { warm: "--warn" };
const DASHES = { dash: "6px,4px", dot: "2px,3px" };
const CONFIG = { displayModeBar: false, showTips: false, doubleClick: false };

function colour(role) {
  const name = COLOURS[role] || `--${role}`;
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#1f5f99";
}

function faint(role, share) {
  const text = colour(role).replace("#", "");
  const [r, g, b] = [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${share})`;
}

// Plotly reads a little markup in texts; names that somebody typed are only text.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function shared(trace) {
  const found = { name: plain(trace.name), x: trace.x, y: trace.y, hoverinfo: "skip", showlegend: true };
  if (trace.texts) {
    found.text = trace.texts.map(plain);
    found.hovertemplate = "%{text}<extra></extra>";
    delete found.hoverinfo;
  }
  return found;
}

function lines(trace) {
  const line = { color: colour(trace.role), width: trace.thin ? 1 : 2.2, dash: DASHES[trace.dash] || "solid" };
  if (trace.kind === "steps") line.shape = "hv";
  if (trace.to) { // a band: its lower end unseen, its upper end filled down to it
    const edge = { type: "scatter", mode: "lines", x: trace.x, hoverinfo: "skip", showlegend: false, line: { width: 0 } };
    return [
      { ...edge, y: trace.y },
      { ...edge, y: trace.to, fill: "tonexty", fillcolor: faint(trace.role, 0.3) },
    ];
  }
  const found = { ...shared(trace), type: "scatter", mode: trace.marks ? "lines+markers" : "lines", line };
  if (trace.dash) line.width = 1.5;
  if (trace.marks) found.marker = { color: colour(trace.role), size: 7 };
  if (trace.fill) Object.assign(found, { fill: "toself", fillcolor: faint(trace.role, 0.2) });
  if (trace.under) Object.assign(found, { fill: "tozeroy", fillcolor: faint(trace.role, 0.1) });
  return [found];
}

function dots(trace) {
  const marker = { color: colour(trace.role), size: 11, symbol: trace.symbol || "circle" };
  return [{ ...shared(trace), type: "scatter", mode: "markers", marker, cliponaxis: false }];
}

// A share to read at a glance: no promise, so that it may be rounded.
function percent(share) {
  if (share < 1e-6) return "0";
  return share < 0.01 ? "<1" : `${Math.round(100 * share)}`;
}

function heat(trace) {
  const few = trace.z.length <= 12 && trace.z[0].length <= 12;
  const scale = [[0, colour("panel")], [1, colour("accent")]];
  const names = (labels) => labels.map((label, at) => `${at}`);
  return [{
    type: "heatmap", z: trace.z, x: names(trace.x), y: names(trace.y), zmin: 0, zmax: 1, colorscale: scale, xgap: 1, ygap: 1,
    text: trace.z.map((row) => row.map((share) => (share < 1e-3 ? "" : percent(share)))), texttemplate: few ? "%{text}" : "",
    customdata: trace.z.map((row) => row.map(percent)), hovertemplate: "%{customdata}<extra></extra>",
    showscale: false,
  }];
}

function axisOf(side, ticks, down = false) {
  const found = {
    title: { text: plain(side.title), font: { size: 13, color: colour("ink") }, standoff: 8 }, color: colour("muted"),
    tickfont: { size: 12, color: colour("muted") }, gridcolor: colour("line"), linecolor: colour("edge"), zeroline: false,
    showline: true, fixedrange: true, automargin: true, exponentformat: "e", type: side.scale || "linear",
  };
  const range = side.low === undefined || side.high === undefined ? null : [side.low, side.high];
  if (range) {
    found.range = side.scale === "log" ? range.map(Math.log10) : range;
    found.autorange = false;
  }
  if (side.scale === "log" && range && Math.log10(range[1] / range[0]) > 1.2) {
    found.dtick = Math.max(1, Math.ceil(Math.log10(range[1] / range[0]) / 7));
  }
  if (ticks) {
    const short = (label) => (label.length > 14 ? `${label.slice(0, 12)}..` : label);
    const step = Math.ceil(ticks.length / 16);
    const kept = ticks.map((label, at) => [`${at}`, plain(short(label))]).filter((entry, at) => at % step === 0);
    Object.assign(found, { type: "category", tickvals: kept.map((e) => e[0]), ticktext: kept.map((e) => e[1]), showgrid: false });
    delete found.range;
    found.autorange = down ? "reversed" : true;
  }
  return found;
}

const crowded = (element) => element.clientWidth < 420;

// Few and level labels of times where there is little room, so that none lies on another or on the legend.
function times(axis, few) {
  return axis.type === "date" ? { ...axis, tickangle: 0, nticks: few ? 4 : 8 } : axis;
}

function layout(chart, few) {
  const map = chart.traces.find((trace) => trace.kind === "heat");
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 56, r: 14, t: 10, b: 48 },
    font: { family: "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif", color: colour("ink"), size: 13 },
    xaxis: times(axisOf(chart.x, map && map.x), few), yaxis: axisOf(chart.y, map && map.y, true), hovermode: map ? "closest" : "x", dragmode: false,
    legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", font: { size: 12 }, itemclick: false, itemdoubleclick: false },
    hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("edge"), font: { color: colour("ink") } },
    annotations: [], showlegend: !map,
  };
}

// Plotly is large: it is fetched beside the first question, not before it.
let plotly = null;
function loaded() {
  plotly ??= window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: "/static/plotly.min.js", async: true, onload: done, onerror: failed });
    document.head.append(script);
  });
  return plotly;
}
loaded().catch(() => {});

const watch = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (!window.Plotly || !target.data || !contentRect.width) continue;
    if (crowded(target) !== target.crowded && drawn.has(target)) put(target, drawn.get(target)); // with fewer labels, or more
    window.Plotly.Plots.resize(target);
  }
});

export function draw(element, chart) {
  if (!drawn.has(element)) watch.observe(element);
  drawn.set(element, chart);
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", `${chart.title}. The same numbers stand in the table below.`);
  return loaded().then(() => {
    const latest = drawn.get(element); // another one may have come meanwhile, or none be wanted any more
    return latest === chart ? put(element, chart) : undefined;
  }, () => { element.textContent = "The chart cannot be drawn; the table below has the same numbers."; });
}

function put(element, chart) {
  const kinds = { points: dots, heat };
  const data = chart.traces.flatMap((trace) => (kinds[trace.kind] || lines)(trace));
  element.crowded = crowded(element);
  const made = window.Plotly.react(element, data, layout(chart, element.crowded), CONFIG);
  // Plotly measures text in a picture of its own, which is nothing to read
  document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
  return made;
}

// One figure for each chart: the drawing, what it is, and its numbers as a table. A figure that is there is kept, so
// that its curve moves.
export function figures(root, charts) {
  const known = new Map([...root.children].map((child) => [child.dataset.chart, child]));
  for (const [name, child] of known) {
    if (!charts.some((chart) => chart.name === name)) {
      forget(child.querySelector(".chart"));
      child.remove();
    }
  }
  const places = charts.map((chart, at) => {
    const figure = known.get(chart.name) || empty(chart.name);
    if (root.children[at] !== figure) root.insertBefore(figure, root.children[at] || null);
    figure.querySelector("figcaption").textContent = chart.title;
    figure.querySelector(".numbers").replaceChildren(...(chart.table ? [table(chart.table)] : []));
    return figure.querySelector(".chart");
  });
  charts.forEach((chart, at) => draw(places[at], chart)); // when all have their places, and so their widths
}

function empty(name) {
  const figure = document.createElement("figure");
  figure.dataset.chart = name;
  const caption = document.createElement("figcaption");
  const place = document.createElement("div");
  place.className = "chart";
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "The numbers as a table";
  const numbers = document.createElement("div");
  numbers.className = "numbers scroll";
  numbers.tabIndex = 0;
  numbers.setAttribute("role", "group");
  numbers.setAttribute("aria-label", "The numbers of this chart");
  details.append(summary, numbers);
  figure.append(caption, place, details);
  return figure;
}

function forget(element) {
  drawn.delete(element);
  watch.unobserve(element);
  if (window.Plotly) window.Plotly.purge(element);
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [element, chart] of drawn) draw(element, chart);
});
