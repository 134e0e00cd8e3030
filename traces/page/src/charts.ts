// SPDX-License-Identifier: Apache-2.0
// The plots below the timeline: roofline, cores, scratchpads.

import { css, currentTheme, mix, pixel, unitColor } from "./colors";
import { isDataLink, isUnitOfCore, peaksOf } from "./counters";
import { el, svg } from "./dom";
import { bytes, percent, si, time } from "./format";
import type { Kernel, Run } from "./run";
import { unitStats } from "./stats";

// --- roofline --------------------------------------------------------------------------------------

interface Point { run: Run; kernel: Kernel; rate: number; level: string; intensity: number; moved: number }
const levels = [
  { id: "memory", name: "device memory", unit: "memory", mark: "circle" },
  { id: "ring", name: "ring", unit: "ring", mark: "diamond" },
  { id: "lx", name: "LX", unit: "load", mark: "square" },
] as const;

// What passed the links and the scratchpads during a kernel.
function movedIn(run: Run, kernel: Kernel): { ring: number; lx: number; memory: number } {
  let ring = 0, lx = 0, memory = 0;
  for (const track of run.tracks) {
    if (track.slices === 0) continue;
    const isLink = isDataLink(track);
    const isUnit = isUnitOfCore(track) && track.name !== "ring";
    if (!isLink && !isUnit && track.process !== "memory") continue;
    const moved = unitStats(run, track, kernel.start, kernel.end).bytes;
    if (isLink) ring += moved; else if (isUnit) lx += moved; else memory += moved;
  }
  return { ring, lx, memory };
}

export function kernelBytes(run: Run, kernel: Kernel): number {
  for (const track of run.tracks) {
    if (track.process !== "card" || !track.name.startsWith("stream ")) continue;
    const [from, to] = run.between(track, kernel.start, kernel.end);
    for (let i = from; i < to; ++i) {
      if (run.start[i] === kernel.start && run.kindOf(i).category === "control" && run.flow[i] === kernel.flow) return run.bytes[i];
    }
  }
  return 0;
}

export function roofline(runs: Run[], pick: (run: Run, kernel: Kernel) => void): HTMLElement | null {
  const peaks = peaksOf(runs[0]);
  if (peaks === null || peaks.macs === 0) return null;
  const theme = currentTheme();
  const points: Point[] = [];
  for (const run of runs) {
    const kernels = [...run.kernels].filter((k) => k.macs > 0 && k.end > k.start)
      .sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, 60);
    for (const kernel of kernels) {
      const rate = kernel.macs / (kernel.end - kernel.start) * 1e12;
      const moved = { ...movedIn(run, kernel), memory: kernelBytes(run, kernel) };
      for (const level of levels) {
        if (moved[level.id] > 0) points.push({ run, kernel, rate, level: level.id, intensity: kernel.macs / moved[level.id], moved: moved[level.id] });
      }
    }
  }
  const section = el("section", { class: "card", id: "roofline", "aria-label": "Roofline" },
    el("div", { class: "card-head" }, el("h3", {}, "Roofline"),
      el("span", { class: "dim" }, "a kernel has one point for each place that its bytes passed; the roof that its point touches is what holds it")));
  if (points.length === 0) {
    section.append(el("p", { class: "dim" }, "The MACs of the kernels are in report.json, which was not found beside the trace; or the kernels have none."));
    section.append(shares(runs));
    return section;
  }
  const roofs = [
    { id: "memory", rate: peaks.memory }, { id: "ring", rate: peaks.ring }, { id: "lx", rate: peaks.lx },
  ].filter((roof) => roof.rate > 0);
  const xs = [...points.map((p) => p.intensity), ...roofs.map((r) => peaks.macs / r.rate)];
  const ys = [...points.map((p) => p.rate), peaks.macs];
  const x0 = Math.log10(Math.min(...xs)) - 0.5, x1 = Math.log10(Math.max(...xs)) + 0.6;
  const y0 = Math.log10(Math.min(...ys)) - 0.35, y1 = Math.log10(Math.max(...ys)) + 0.25;
  const width = 640, height = 360, left = 66, bottom = 40, right = 12, top = 10;
  const x = (v: number): number => left + (Math.log10(v) - x0) / (x1 - x0) * (width - left - right);
  const y = (v: number): number => height - bottom - (Math.log10(v) - y0) / (y1 - y0) * (height - top - bottom);
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Roofline of ${points.length} points` });
  for (let e = Math.ceil(x0); e <= x1; ++e) {
    plot.append(svg("line", { class: "grid", x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: height - bottom }),
      svg("text", { class: "dim", x: x(10 ** e), y: height - bottom + 16, "text-anchor": "middle" }, String(10 ** e)));
  }
  for (let e = Math.ceil(y0); e <= y1; ++e) {
    plot.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(10 ** e), y2: y(10 ** e) }),
      svg("text", { class: "dim", x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, si(10 ** e).trim()));
  }
  plot.append(svg("text", { class: "dim", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "MAC for each byte"),
    svg("text", { class: "dim", x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})` }, "MAC/s"));
  plot.append(svg("line", { x1: x(peaks.macs / Math.max(...roofs.map((r) => r.rate))), x2: width - right, y1: y(peaks.macs), y2: y(peaks.macs), stroke: css(unitColor("pt", theme)), "stroke-width": 2 }),
    svg("text", { x: width - right - 4, y: y(peaks.macs) - 6, "text-anchor": "end" }, `PT arrays ${si(peaks.macs)}MAC/s`));
  for (const roof of roofs) {
    const level = levels.find((l) => l.id === roof.id)!;
    const ridge = peaks.macs / roof.rate, low = Math.max(10 ** x0, 10 ** y0 / roof.rate);
    const color = css(unitColor(level.unit, theme));
    plot.append(svg("line", { x1: x(low), y1: y(low * roof.rate), x2: x(ridge), y2: y(peaks.macs), stroke: color, "stroke-width": 2 }));
    const at = 10 ** (Math.log10(low) * 0.55 + Math.log10(ridge) * 0.45);
    const angle = -Math.atan2(y(low * roof.rate) - y(peaks.macs), x(ridge) - x(low)) * 180 / Math.PI;
    plot.append(svg("text", { x: x(at), y: y(at * roof.rate) - 7, "text-anchor": "middle", transform: `rotate(${angle} ${x(at)} ${y(at * roof.rate) - 7})` },
      `${level.name} ${si(roof.rate)}B/s`));
  }
  for (const point of points) {
    const level = levels.find((l) => l.id === point.level)!;
    const color = css(unitColor(level.unit, theme));
    const cx = x(point.intensity), cy = y(point.rate);
    const text = `${runs.length > 1 ? `${point.run.letter}: ` : ""}${point.kernel.label}: ${si(point.rate)}MAC/s, ${point.intensity.toFixed(2)} MAC a byte of ${level.name} (${bytes(point.moved)})`;
    const common = { fill: point.run.index === 0 ? color : css(theme.back), stroke: point.run.index === 0 ? css(theme.back) : color, "stroke-width": 1.6, tabindex: 0, role: "button", "aria-label": text, style: "cursor:pointer" };
    const mark = level.mark === "circle" ? svg("circle", { ...common, cx, cy, r: 6 })
      : level.mark === "square" ? svg("rect", { ...common, x: cx - 5, y: cy - 5, width: 10, height: 10 })
        : svg("path", { ...common, d: `M${cx} ${cy - 7}L${cx + 7} ${cy}L${cx} ${cy + 7}L${cx - 7} ${cy}Z` });
    mark.append(svg("title", {}, text));
    mark.addEventListener("click", () => pick(point.run, point.kernel));
    mark.addEventListener("keydown", (event) => { if ((event as KeyboardEvent).key === "Enter") pick(point.run, point.kernel); });
    plot.append(mark);
  }
  section.append(plot);
  if (runs.length > 1) section.append(el("div", { class: "key" }, el("span", {}, "filled: A"), el("span", {}, "hollow: B")));
  section.append(shares(runs));
  return section;
}

// How near the launches came to each peak.
function shares(runs: Run[]): HTMLElement {
  const theme = currentTheme();
  const grid = el("div", { class: "bars", role: "list", "aria-label": "Share of the peaks" });
  for (const run of runs) {
    const peaks = peaksOf(run);
    if (peaks === null) continue;
    const kernels = run.kernels;
    let span = 0, macs = 0;
    const moved = { ring: 0, lx: 0, memory: 0 };
    for (const kernel of kernels.slice(0, 400)) {
      span += kernel.end - kernel.start;
      macs += kernel.macs;
      const m = movedIn(run, kernel);
      moved.ring += m.ring; moved.lx += m.lx; moved.memory += m.memory;
    }
    if (span === 0) continue;
    const list: [string, string, number][] = [
      ["PT arrays", "pt", macs / span * 1e12 / peaks.macs],
      ["Memory bus", "memory", moved.memory / span * 1e12 / Math.max(peaks.memory, 1)],
      ["Ring", "ring", moved.ring / span * 1e12 / Math.max(peaks.ring, 1)],
      ["LX ports", "load", moved.lx / span * 1e12 / Math.max(peaks.lx, 1)],
    ];
    for (const [name, unit, share] of list) {
      grid.append(el("span", { role: "listitem" }, runs.length > 1 ? `${run.letter}: ${name}` : name),
        el("span", { class: "bar" }, el("i", { style: `width:${Math.min(share * 100, 100)}%;background:${css(unitColor(unit, theme))}` })),
        el("span", {}, percent(share)));
    }
  }
  return el("div", {}, el("h3", { style: "margin:.6rem 0 .3rem" }, "Share of the peaks while kernels ran"), grid);
}

// --- cores -------------------------------------------------------------------------------------------

export interface Straggler { core: string; late: number; median: number; unit: string }

interface CoreBar { core: string; finish: number; busy: Map<string, number>; wait: number; first: number }

function coreBars(run: Run, t0: number, t1: number): CoreBar[] {
  const cores = new Map<string, CoreBar>();
  for (const track of run.tracks) {
    if (!isUnitOfCore(track) || track.slices === 0) continue;
    const stats = unitStats(run, track, t0, t1);
    if (stats.slices === 0) continue;
    let core = cores.get(track.process);
    if (core === undefined) cores.set(track.process, core = { core: track.process, finish: 0, busy: new Map(), wait: 0, first: Infinity });
    core.busy.set(track.name, stats.busy);
    for (const waited of stats.waits.values()) core.wait += waited;
    const [from, to] = run.between(track, t0, t1);
    for (let i = to - 1; i >= from; --i) {
      if (run.isWait[run.kind[i]] !== 0) continue;
      // What a unit of the core did before it met the others.
      if (track.name !== "ring") core.finish = Math.max(core.finish, Math.min(run.endOf(i), t1));
      if (to - i > 16) break;
    }
    if (to > from) core.first = Math.min(core.first, Math.max(run.start[from], t0));
  }
  return [...cores.values()];
}

export function stragglerOf(run: Run, kernel: Kernel): Straggler | null {
  const bars = coreBars(run, kernel.start, kernel.end).filter((bar) => bar.finish > 0);
  if (bars.length < 2) return null;
  const ends = bars.map((bar) => bar.finish).sort((a, b) => a - b);
  const median = ends[ends.length >> 1];
  const last = bars.reduce((a, b) => (b.finish > a.finish ? b : a));
  let unit = "", most = -1;
  for (const [name, busy] of last.busy) if (busy > most) { most = busy; unit = name; }
  return { core: last.core, late: last.finish - median, median, unit };
}

export function coresCard(run: Run, kernel: Kernel | null, several: boolean): HTMLElement | null {
  const theme = currentTheme();
  const t0 = kernel?.start ?? 0, t1 = kernel?.end ?? run.launchEnd;
  const bars = coreBars(run, t0, t1);
  if (bars.length === 0) return null;
  const straggler = kernel === null ? null : stragglerOf(run, kernel);
  const span = t1 - t0;
  const grid = el("div", { class: "bars", role: "list", "aria-label": "Cores" });
  for (const bar of bars.slice(0, 64)) {
    const pts = ["pt", "vector", "load", "store"];
    const strip = el("span", { class: "bar", style: "flex-direction:column;height:1.15rem;background:none" });
    const finish = el("span", { style: `position:absolute;left:0;top:0;bottom:0;width:${((bar.finish - t0) / span) * 100}%;background:${css(mix(theme.back, theme.line, 0.9))}` });
    strip.append(finish);
    for (const unit of pts) {
      const share = (bar.busy.get(unit) ?? 0) / span;
      strip.append(el("i", { style: `position:relative;height:25%;width:${share * 100}%;background:${css(unitColor(unit, theme))}`, title: `${unit} busy ${percent(share)}` }));
    }
    const isLast = straggler !== null && straggler.core === bar.core;
    grid.append(el("span", { role: "listitem", class: isLast ? "straggler" : "" }, bar.core), strip,
      el("span", { class: isLast ? "straggler" : "dim" }, `${time(bar.finish - t0)}`));
  }
  const words = straggler === null ? "" : straggler.late > span * 0.002
    ? `Straggler: ${straggler.core}, done ${time(straggler.late)} (${percent(straggler.late / span)} of the kernel) after the median core; its ${straggler.unit} unit was busiest.`
    : `No straggler: the last core, ${straggler.core}, is done ${time(straggler.late)} after the median one.`;
  return el("section", { class: "card", id: several ? `cores-${run.letter}` : "cores", "aria-label": "Cores" },
    el("div", { class: "card-head" }, el("h3", {}, `${several ? `${run.letter}: ` : ""}Cores${kernel === null ? "" : ` in ${kernel.label}`}`), el("span", { class: "dim right" }, "time when its last unit was done")),
    el("p", { class: straggler !== null && straggler.late > span * 0.002 ? "straggler-line bad" : "straggler-line dim", style: "margin:.1rem 0 .4rem" }, words),
    el("div", { class: "key", style: "margin-bottom:.4rem" }, ...["pt", "vector", "load", "store"].map((unit) =>
      el("span", {}, el("i", { style: `background:${css(unitColor(unit, theme))}` }), `${unit} busy`)), el("span", {}, el("i", { style: `background:${css(theme.line)}` }), "at work until")),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cores" }, grid));
}

// --- LX ------------------------------------------------------------------------------------------------

// Traffic of every scratchpad over time: a row a core, bright where its port is full.
export function lxCard(run: Run, several: boolean): HTMLElement | null {
  const theme = currentTheme();
  const cores = [...new Set(run.tracks.filter((t) => isUnitOfCore(t) && t.slices > 0).map((t) => t.process))];
  if (cores.length === 0) return null;
  const columns = 480, rowHeight = 5;
  const per = run.launchEnd / columns;
  const peak = (peaksOf(run)?.lxCore ?? 0) / 1e12; // bytes a ps
  const canvas = document.createElement("canvas");
  canvas.className = "heat";
  canvas.width = columns;
  canvas.height = cores.length * rowHeight;
  canvas.style.height = `${Math.max(cores.length * 7, 40)}px`;
  const image = new ImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const rows: Float64Array[] = [];
  let most = 0;
  for (const core of cores) {
    const sum = new Float64Array(columns);
    for (const track of run.tracks) {
      if (track.process !== core || track.name === "ring") continue;
      const [from, to] = run.between(track, 0, run.launchEnd);
      for (let i = from; i < to; ++i) {
        if (run.bytes[i] === 0 || run.length[i] === 0) continue;
        const a = Math.max(run.start[i], 0) / per, b = Math.min(run.endOf(i), run.launchEnd) / per;
        const rate = run.bytes[i] / run.length[i];
        for (let x = Math.floor(a); x < b && x < columns; ++x) sum[x] += (Math.min(b, x + 1) - Math.max(a, x)) * rate;
      }
    }
    rows.push(sum);
    for (const v of sum) most = Math.max(most, v);
  }
  const full = peak > 0 && most > peak * 0.3 ? Math.max(peak, most) : Math.max(most, 1e-9);
  const low = theme.back, high = unitColor("load", theme), hot = unitColor("store", theme);
  rows.forEach((sum, row) => {
    for (let x = 0; x < columns; ++x) {
      const share = sum[x] / full;
      const color = pixel(share < 0.6 ? mix(low, high, share / 0.6) : mix(high, hot, (share - 0.6) / 0.4));
      for (let y = row * rowHeight; y < (row + 1) * rowHeight - (cores.length > 1 ? 1 : 0); ++y) pixels[y * columns + x] = color;
    }
  });
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `LX traffic of ${cores.length} cores over the launches`);
  const used = run.report?.division?.lx_bytes_used ?? 0;
  const all = run.card?.core?.lx_bytes ?? 0;
  return el("section", { class: "card", id: several ? `lx-${run.letter}` : "lx", "aria-label": "LX" },
    el("div", { class: "card-head" }, el("h3", {}, `${several ? `${run.letter}: ` : ""}LX, core by core`),
      el("span", { class: "dim right" }, `0 to ${(full * 1e3).toFixed(0)} GB/s a core`)),
    used > 0 && all > 0 ? el("div", { class: "bars", style: "margin-bottom:.5rem" }, el("span", {}, "Held by the kernel"),
      el("span", { class: "bar" }, el("i", { style: `width:${used / all * 100}%;background:${css(unitColor("load", theme))}` })),
      el("span", {}, `${bytes(used)} of ${bytes(all)} (${percent(used / all)})`)) : null,
    canvas,
    el("div", { class: "key" }, el("span", {}, `${cores[0]} at the top, ${cores[cores.length - 1]} at the bottom`), el("span", {}, `from the first launch to ${time(run.launchEnd)}`)));
}
