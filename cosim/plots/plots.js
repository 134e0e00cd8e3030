// SPDX-License-Identifier: Apache-2.0
// Plots as SVG, for pages that stand alone. Rows are objects; a column is {name, label, unit}.
"use strict";

const kSvg = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
}
const svg = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

// Numbers as people read them: times and sizes in the unit that fits.
function format(value, unit) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  const scaled = (steps, base) => {
    let step = 0, number = value;
    while (Math.abs(number) >= base && step + 1 < steps.length) { number /= base; ++step; }
    return Number(number.toPrecision(5)) + " " + steps[step];
  };
  if (unit === "ns") return scaled(["ns", "us", "ms", "s"], 1000);
  if (unit === "nJ") return scaled(["nJ", "uJ", "mJ", "J"], 1000);
  if (unit === "bytes") return scaled(["B", "KiB", "MiB", "GiB"], 1024);
  return Number(value.toPrecision(6)) + (unit ? " " + unit : "");
}

// From dark blue over green to yellow, readable in grey and by people who do not see red.
const kColours = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function colour(share) {
  const place = Math.min(1, Math.max(0, share)) * (kColours.length - 1), at = Math.min(kColours.length - 2, Math.floor(place));
  const mix = kColours[at].map((from, i) => Math.round(from + (kColours[at + 1][i] - from) * (place - at)));
  return `rgb(${mix.join(",")})`;
}

// Maps values to 0 .. 1: numbers evenly or by their logarithm, anything else by its order.
function scaleOf(values) {
  const known = values.filter(value => value !== null && value !== undefined);
  if (!known.length || known.some(value => typeof value !== "number")) {
    const names = [...new Set(known.map(String))];
    const place = value => names.indexOf(String(value));
    return { kind: "names", of: value => (place(value) + 0.5) / Math.max(1, names.length), ticks: names, has: value => place(value) >= 0 };
  }
  let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  const has = value => typeof value === "number";
  if (low > 0 && high / low >= 20) {
    const from = Math.log(low) - 0.03 * Math.log(high / low), size = 1.06 * Math.log(high / low), ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
      for (const digit of [1, 2, 5]) { const tick = digit * 10 ** power; if (tick >= low * 0.97 && tick <= high * 1.03) ticks.push(tick); }
    return { kind: "log", of: value => (Math.log(value) - from) / size, ticks, has };
  }
  if (low === high) { low -= Math.abs(low) || 1; high += Math.abs(high) || 1; }
  const margin = 0.04 * (high - low); low -= margin; high += margin;
  const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw)), ticks = [];
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= raw);
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return { kind: "linear", of: value => (value - low) / (high - low), ticks, has };
}

const kWidth = 720, kHeight = 440, kLeft = 90, kRight = 16, kTop = 12, kBottom = 56;
const atX = share => kLeft + share * (kWidth - kLeft - kRight);
const atY = share => kHeight - kBottom - share * (kHeight - kTop - kBottom);

function frame(title, x, y, xScale, yScale) {
  const picture = svg("svg", { viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": title });
  const few = ticks => ticks.filter((_, i) => i % Math.ceil(ticks.length / 14) === 0);
  for (const tick of few(xScale.ticks)) {
    const place = atX(xScale.of(tick));
    picture.append(svg("line", { class: "grid", x1: place, x2: place, y1: kTop, y2: kHeight - kBottom }),
      svg("text", { x: place, y: kHeight - kBottom + 18, "text-anchor": "middle" }, format(tick, x.unit)));
  }
  for (const tick of few(yScale.ticks)) {
    const place = atY(yScale.of(tick));
    picture.append(svg("line", { class: "grid", x1: kLeft, x2: kWidth - kRight, y1: place, y2: place }),
      svg("text", { x: kLeft - 8, y: place + 4, "text-anchor": "end" }, format(tick, y.unit)));
  }
  picture.append(svg("line", { class: "axis", x1: kLeft, x2: kWidth - kRight, y1: kHeight - kBottom, y2: kHeight - kBottom }),
    svg("line", { class: "axis", x1: kLeft, x2: kLeft, y1: kTop, y2: kHeight - kBottom }),
    svg("text", { x: (kLeft + kWidth) / 2, y: kHeight - 12, "text-anchor": "middle" }, x.label),
    svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(16 ${(kHeight - kBottom) / 2}) rotate(-90)` }, y.label));
  return picture;
}

// One mark for each row. options: colour (a column), describe (row to text), line (rows that a line joins).
function scatter(rows, x, y, options = {}) {
  const xScale = scaleOf(rows.map(row => row[x.name])), yScale = scaleOf(rows.map(row => row[y.name]));
  const shade = options.colour ? scaleOf(rows.map(row => row[options.colour.name])) : null;
  const picture = frame(`${y.label} by ${x.label}`, x, y, xScale, yScale);
  const drawn = row => xScale.has(row[x.name]) && yScale.has(row[y.name]);
  if (options.line) {
    const path = options.line.filter(drawn).map(row => `${atX(xScale.of(row[x.name]))},${atY(yScale.of(row[y.name]))}`);
    picture.append(svg("polyline", { class: "front", points: path.join(" ") }));
  }
  for (const row of rows.filter(drawn)) {
    picture.append(svg("circle", { class: "point", cx: atX(xScale.of(row[x.name])), cy: atY(yScale.of(row[y.name])),
      r: 4.5, tabindex: 0, fill: shade && shade.has(row[options.colour.name]) ? colour(shade.of(row[options.colour.name])) : "#5b8fd6" },
      svg("title", {}, options.describe ? options.describe(row) : "")));
  }
  return picture;
}

// The best row of each cell. better: (a, b) whether value a is better than b.
function heatMap(rows, x, y, figure, better, describe) {
  const sorted = column => [...new Set(rows.map(row => row[column.name]))]
    .sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const columns = sorted(x), lines = sorted(y), cells = new Map();
  for (const row of rows) {
    if (typeof row[figure.name] !== "number") continue;
    const place = columns.indexOf(row[x.name]) + columns.length * lines.indexOf(row[y.name]);
    if (!cells.has(place) || better(row[figure.name], cells.get(place)[figure.name])) cells.set(place, row);
  }
  const scale = list => ({ ticks: list.map(String), of: name => (list.map(String).indexOf(name) + 0.5) / list.length });
  const picture = frame(`best ${figure.label} by ${x.label} and ${y.label}`, { label: x.label }, { label: y.label }, scale(columns), scale(lines));
  const shade = scaleOf([...cells.values()].map(row => row[figure.name]));
  const width = (kWidth - kLeft - kRight) / columns.length, height = (kHeight - kTop - kBottom) / lines.length;
  for (const [place, row] of cells) {
    const column = place % columns.length, line = Math.floor(place / columns.length), share = shade.of(row[figure.name]);
    const left = kLeft + column * width, top = kHeight - kBottom - (line + 1) * height;
    picture.append(svg("rect", { class: "point", x: left, y: top, width, height, fill: colour(share), tabindex: 0 },
      svg("title", {}, describe(row))));
    if (width > 52 && height > 16) picture.append(svg("text", { x: left + width / 2, y: top + height / 2 + 4, "text-anchor": "middle",
      style: `fill: ${share > 0.6 ? "#000" : "#fff"}; pointer-events: none` }, format(row[figure.name], figure.unit)));
  }
  return picture;
}

// A line for each row across one axis for each column; the last column gives the colour.
function parallel(rows, columns, describe) {
  const scales = columns.map(column => scaleOf(rows.map(row => row[column.name])));
  const width = Math.max(720, 130 * columns.length), height = 380, top = 40, bottom = 16;
  const x = i => 70 + i * (width - 140) / Math.max(1, columns.length - 1), y = share => height - bottom - share * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "parallel coordinates of all points" });
  const last = columns.length - 1;
  for (const row of rows) {
    if (!columns.every((column, i) => scales[i].has(row[column.name]))) continue;
    picture.append(svg("polyline", { points: columns.map((column, i) => `${x(i)},${y(scales[i].of(row[column.name]))}`).join(" "),
      fill: "none", stroke: colour(scales[last].of(row[columns[last].name])), "stroke-width": row.pareto ? 2.5 : 1,
      opacity: row.pareto ? 1 : 0.45 }, svg("title", {}, describe(row))));
  }
  columns.forEach((column, i) => {
    picture.append(svg("line", { class: "axis", x1: x(i), x2: x(i), y1: top, y2: height - bottom }),
      svg("text", { x: x(i), y: i % 2 ? 14 : 28, "text-anchor": "middle" }, column.label));
    for (const tick of scales[i].ticks.filter((_, at) => at % Math.ceil(scales[i].ticks.length / 8) === 0))
      picture.append(svg("text", { x: x(i) + 5, y: y(scales[i].of(tick)) + 4 }, format(tick, column.unit)));
  });
  return picture;
}

// A table whose rows sort by the column that is clicked, or chosen with Enter.
function table(rows, columns) {
  const body = html("tbody"), classOf = column => column.name === "reason" ? "reason" : column.text ? "text" : null;
  const show = list => body.replaceChildren(...list.map(row => html("tr", {},
    columns.map(column => html("td", { class: classOf(column) }, format(row[column.name], column.unit))))));
  let sortedBy = null, direction = 1;
  const sort = column => {
    direction = sortedBy === column ? -direction : 1;
    sortedBy = column;
    const key = row => row[column.name];
    show([...rows].sort((a, b) => direction * (typeof key(a) === "number" && typeof key(b) === "number" ? key(a) - key(b)
      : String(key(a) ?? "").localeCompare(String(key(b) ?? "")))));
  };
  const head = columns.map(column => html("th", { class: column.text ? "text" : null, tabindex: 0, scope: "col", click: () => sort(column),
    keydown: event => { if (event.key === "Enter") sort(column); } }, column.label));
  show(rows);
  return html("div", { class: "scroll" }, html("table", {}, html("thead", {}, html("tr", {}, head)), body));
}

function chooser(label, columns, chosen, changed) {
  const select = html("select", { change: () => changed(columns[select.selectedIndex]) },
    columns.map(column => html("option", column === chosen ? { selected: "" } : {}, column.label)));
  return html("label", {}, label + " ", select);
}
