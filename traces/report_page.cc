// SPDX-License-Identifier: Apache-2.0
#include "traces/report.h"

namespace spyre::trace {

const char* const kReportPage = R"PAGE(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Spyre trace</title>
<style>
:root { --text: #1c2430; --dim: #68727f; --line: #dde2e8; --back: #ffffff; --panel: #f5f7f9; --bar: #3572b0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ec; --dim: #919ba8; --line: #333b46; --back: #161a20; --panel: #1e242c; --bar: #5a9bdc; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 24px; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 28px 0 8px; }
.dim { color: var(--dim); } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px 3px 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 500; } th:first-child, td:first-child, td.text { text-align: left; }
.meter { display: inline-block; width: 120px; height: 9px; background: var(--line); vertical-align: middle; margin-right: 8px; }
.meter i { display: block; height: 100%; background: var(--bar); }
#timeline { position: relative; border: 1px solid var(--line); max-height: 70vh; overflow-y: auto; }
#axis { position: sticky; top: 0; display: block; z-index: 1; } canvas { display: block; }
#tip { position: fixed; display: none; pointer-events: none; background: var(--panel); border: 1px solid var(--line);
  padding: 6px 9px; font-size: 12px; z-index: 2; white-space: pre; }
button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); padding: 2px 10px; }
</style></head><body>
<h1>%TITLE%</h1><div id="head" class="dim"></div>
<h2>Timeline</h2>
<p class="dim"><button id="all">Whole run</button> Drag to move, Ctrl + wheel or W/S to zoom, A/D to move, click a
process to fold it, click a slice to mark all slices of its control block. <span id="merged"></span></p>
<div id="timeline"><canvas id="axis"></canvas><canvas id="rows"></canvas></div><div id="tip"></div>
<div id="tables"></div>
<script>
"use strict";
const data = %DATA%;
const timeline = data.timeline, summary = data.summary, el = id => document.getElementById(id);

// Tables
const time = ps => ps < 1e3 ? ps + " ps" : ps < 1e6 ? (ps / 1e3).toFixed(3) + " ns" : ps < 1e9 ? (ps / 1e6).toFixed(3) + " us"
  : ps < 1e12 ? (ps / 1e9).toFixed(3) + " ms" : (ps / 1e12).toFixed(3) + " s";
const ns = value => time(Math.round(value * 1e3));
const size = bytes => { let unit = 0; for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  return (unit ? bytes.toFixed(2) : bytes) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]; };
const percent = ratio => (ratio * 100).toFixed(1) + " %";
function meter(ratio) {
  const outer = document.createElement("span"), inner = document.createElement("i");
  outer.className = "meter"; inner.style.width = Math.min(100, ratio * 100) + "%"; outer.append(inner);
  const cell = document.createElement("span"); cell.append(outer, percent(ratio)); return cell;
}
function table(title, header, rows) {
  if (!rows.length) return;
  const heading = document.createElement("h2"), box = document.createElement("div"), result = document.createElement("table");
  heading.textContent = title; box.className = "scroll"; box.append(result);
  const add = (cells, tag) => { const tr = result.insertRow();
    for (const cell of cells) { const td = document.createElement(tag); td.append(cell); tr.append(td); } };
  add(header, "th"); rows.forEach(row => add(row, "td"));
  el("tables").append(heading, box);
}
el("head").textContent = `Simulated time ${ns(summary.sim_time_ns)}, ${summary.records} records, ${summary.dropped} dropped, digest ${summary.digest}. `
  + (summary.dropped ? `The timeline and all figures are of the part from ${ns(summary.begin_ns)} on, where no record is missing. ` : "")
  + (summary.interrupted ? "The run did not end, or has not yet: the file holds what was recorded up to its last block. " : "")
  + Object.entries(summary.metadata).filter(([, v]) => typeof v !== "object").map(([k, v]) => `${k}: ${v}`).join(", ");
if (timeline.merged_below_ps) el("merged").textContent = `Neighbouring slices shorter than ${time(timeline.merged_below_ps)} are drawn as one.`;
const operations = list => list.map(op => [op.name, op.count, ns(op.total_ns), ns(op.min_ns), ns(op.mean_ns), ns(op.max_ns),
  size(op.bytes), Object.entries(op.unit_utilization).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([k, v]) => `${k} ${percent(v)}`).join(", ")]);
const columns = ["name", "count", "total", "min", "mean", "max", "bytes", "busiest units meanwhile"];
table("Kernels", columns, operations(summary.kernels));
table("Other control blocks", columns, operations(summary.control_blocks));
table("Units", ["unit", "n", "utilisation of the run", "while active", "busy (mean)", "min", "max", "slices", "bytes", "GB/s"],
  summary.groups.map(g => [g.name, g.units, meter(g.utilization), meter(g.utilization_active), ns(g.busy_mean_ns), ns(g.busy_min_ns),
    ns(g.busy_max_ns), g.slices, size(g.bytes), g.bytes ? g.gb_per_s.toFixed(2) : "-"]));
table("Streams", ["stream", "operations", "busy", "gaps in total", "largest gap"],
  summary.streams.map(s => [s.name, s.operations.length, ns(s.busy_ns), ns(s.gap_total_ns), ns(s.gap_largest_ns)]));

// Timeline
const kLabel = 190, kRow = 14, kHead = 20, kFields = 7;
const begin = data.begin_ps, end = Math.max(data.end_ps, begin + 1);
let from = begin, to = end, width = 0, marked = 0, hits = [];
// Open at first: what fits a screen, and one core for all.
const first_core = timeline.processes.find(p => p.name.startsWith("core "));
for (const p of timeline.processes) p.folded = p.tracks.length > 8 || (p.name.startsWith("core ") && p !== first_core);
const colors = timeline.names.map((_, i) => `hsl(${(i * 137.5 + 205) % 360} 48% 60%)`);  // golden angle: neighbours differ
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name);
const x = ps => kLabel + (ps - from) / (to - from) * (width - kLabel);
function fit(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale; canvas.height = height * scale;
  canvas.style.width = width + "px"; canvas.style.height = height + "px";
  const g = canvas.getContext("2d"); g.scale(scale, scale); g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
  return g;
}
function bars(g, track, top, rows) {
  const b = track.bars;
  const last = [];  // per row: right edge of what is drawn, so that a pixel is drawn once
  for (let i = 0; i < b.length; i += kFields) {
    if (b[i] > to || b[i] + b[i + 1] < from) continue;
    const left = Math.max(x(b[i]), kLabel), right = Math.min(Math.max(x(b[i] + b[i + 1]), left + 1), width);
    const row = Math.min(b[i + 6], rows - 1), y = top + row * kRow;
    if (right <= (last[row] || 0) + 0.3 && b[i + 3] !== marked) continue;
    last[row] = right;
    g.globalAlpha = marked && b[i + 3] !== marked ? 0.25 : 1;
    g.fillStyle = colors[b[i + 2]]; g.fillRect(left, y + 1, right - left, kRow - 2);
    if (right - left > 40) { g.save(); g.beginPath(); g.rect(left, y, right - left - 2, kRow); g.clip();
      g.fillStyle = "#000"; g.fillText(timeline.names[b[i + 2]], left + 3, y + kRow / 2 + 1); g.restore(); }
  }
  g.globalAlpha = 1;
}
function draw() {
  width = el("timeline").clientWidth;
  let height = 4;
  for (const p of timeline.processes) height += kHead + (p.folded ? kRow : p.tracks.reduce((sum, t) => sum + t.rows * kRow + 3, 0));
  const text = css("--text"), dim = css("--dim"), line = css("--line"), back = css("--back");
  const axis = fit(el("axis"), 22);
  axis.fillStyle = back; axis.fillRect(0, 0, width, 22); axis.fillStyle = dim;
  const g = fit(el("rows"), height);
  let step = 1;
  while ((to - from) / step > 8) step *= String(step)[0] === "2" ? 2.5 : 2;
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    axis.fillText(time(t), x(t) + 3, 11); axis.fillRect(x(t), 0, 1, 22);
    g.fillStyle = line; g.fillRect(x(t), 0, 1, height);
  }
  hits = []; let y = 2;
  for (const p of timeline.processes) {
    g.fillStyle = css("--panel"); g.fillRect(0, y, width, kHead - 2);
    g.fillStyle = text; g.fillText((p.folded ? "\u25b8 " : "\u25be ") + p.name, 6, y + kHead / 2);
    hits.push({top: y, bottom: y + kHead, process: p}); y += kHead;
    if (p.folded) { p.tracks.forEach(t => bars(g, t, y, 1)); y += kRow; continue; }
    for (const t of p.tracks) {
      g.fillStyle = dim; g.fillText(t.name, 20, y + kRow / 2 + 1); bars(g, t, y, t.rows);
      hits.push({top: y, bottom: y + t.rows * kRow, track: t, process: p}); y += t.rows * kRow + 3;
    }
  }
}
function at(event) {
  const box = el("rows").getBoundingClientRect(), y = event.clientY - box.top, px = event.clientX - box.left;
  const hit = hits.find(h => y >= h.top && y < h.bottom);
  if (!hit || !hit.track) return hit;
  const b = hit.track.bars, row = Math.floor((y - hit.top) / kRow);
  for (let i = b.length - kFields; i >= 0; i -= kFields)
    if (b[i + 6] === row && px >= x(b[i]) - 1 && px <= Math.max(x(b[i] + b[i + 1]), x(b[i]) + 2)) return {...hit, bar: b.slice(i, i + kFields)};
  return hit;
}
function zoom(factor, center) {
  const span = Math.min(Math.max((to - from) * factor, 10), end - begin), ratio = (center - from) / (to - from);
  from = Math.min(Math.max(center - ratio * span, begin), end - span); to = from + span; draw();
}
function move(share) {
  const span = to - from; from = Math.min(Math.max(from + share * span, begin), end - span); to = from + span; draw();
}
let drag = null;
const rows = el("rows");
rows.onmousedown = event => { drag = {at: event.clientX, moved: false}; };
window.onmouseup = event => {
  if (drag && !drag.moved && event.target === rows) { const hit = at(event);
    if (hit && !hit.track) hit.process.folded = !hit.process.folded;
    marked = hit && hit.bar && hit.bar[3] !== marked ? hit.bar[3] : 0; draw(); }
  drag = null;
};
window.onmousemove = event => {
  if (drag) { const delta = event.clientX - drag.at;
    if (Math.abs(delta) > 2) { drag.moved = true; drag.at = event.clientX; move(-delta / (width - kLabel)); } return; }
  const hit = event.target === rows ? at(event) : null, tip = el("tip");
  tip.style.display = hit && hit.bar ? "block" : "none";
  if (!hit || !hit.bar) return;
  const [start, length, name, flow, bytes, count] = hit.bar;
  tip.textContent = `${timeline.names[name]}${count > 1 ? ` and ${count - 1} more` : ""}\n${hit.process.name} / ${hit.track.name}\n`
    + `start ${time(start)}, ${time(length)}` + (bytes ? `\n${size(bytes)}, ${(bytes / length * 1e3).toFixed(2)} GB/s` : "") + (flow ? `\ncontrol block ${flow}` : "");
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 260) + "px"; tip.style.top = event.clientY + 14 + "px";
};
rows.addEventListener("wheel", event => { if (!event.ctrlKey) return; event.preventDefault();
  const px = event.clientX - rows.getBoundingClientRect().left;
  zoom(event.deltaY > 0 ? 1.25 : 0.8, from + (px - kLabel) / (width - kLabel) * (to - from)); }, {passive: false});
window.onkeydown = event => { const middle = (from + to) / 2;
  if (event.key === "w") zoom(0.7, middle); if (event.key === "s") zoom(1.4, middle);
  if (event.key === "a") move(-0.2); if (event.key === "d") move(0.2); };
el("all").onclick = () => { from = begin; to = end; draw(); };
window.onresize = draw; draw();
</script></body></html>
)PAGE";

}  // namespace spyre::trace
