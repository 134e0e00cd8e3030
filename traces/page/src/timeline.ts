// SPDX-License-Identifier: Apache-2.0
// The timeline: one canvas for axis and rows, labels beside it as elements that a screen reader
// finds. Wheel, drag and keys move it; the same actions are methods.

import { causeColor, css, currentTheme, hueOf, kindColor, mix, pixel, unitColor, type Theme } from "./colors";
import { queueDepth, seriesColor, valuesOf, type Counter } from "./counters";
import { axisTime, bytes, percent, time } from "./format";
import { busyShare, Raster, type Look } from "./raster";
import { categoryOf, countersOf, isElastic, makeRows, type Grouping, type Row } from "./rows";
import type { Kernel, Path, Run, Track } from "./run";

export interface Selection { run: Run; slice: number }
export interface Range { from: number; to: number }
export interface Hooks {
  selected: (selection: Selection | null) => void;
  ranged: (range: Range | null) => void;
  moved: () => void;
}

const kMini = 26, kAxis = 24;
const kMinSpan = 20; // ps on the screen at most zoom

export class Timeline {
  from = 0;
  to = 1;
  selection: Selection | null = null;
  range: Range | null = null;
  grouping: Grouping = "unit";
  hiddenCategories = new Set<string>();
  unitFilter = "";
  showPath = true;
  kernelOfPath: (number | null)[];
  rows: Row[] = [];
  readonly canvas: HTMLCanvasElement;
  private readonly labels: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly raster = new Raster();
  private readonly open = new Map<string, boolean>();
  private readonly countersByRun = new Map<Run, Counter[]>();
  private readonly queues = new Map<Run, { times: number[]; depth: number[] }>();
  private readonly looks = new Map<string, Look>();
  private theme: Theme = currentTheme();
  private scroll = 0;
  private scale = 1;
  private ratio = 1;
  private cssWidth = 0;
  private cssHeight = 0;
  private labelWidth = 190;
  private frame = 0;
  private labelsKey = "";
  private search: { text: string; matches: Map<Run, Uint8Array> } | null = null;
  private flowSlices: number[] = [];

  constructor(private readonly root: HTMLElement, readonly runs: Run[], private readonly hooks: Hooks) {
    this.canvas = root.querySelector("canvas")!;
    this.labels = root.querySelector(".labels")!;
    this.tip = root.querySelector(".tip")!;
    this.kernelOfPath = runs.map((run) => longest(run)?.number ?? null);
    this.home();
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(root);
  }

  // --- what is shown -----------------------------------------------------------------------------

  get first(): number { return Math.min(...this.runs.map((run) => run.begin)); }
  get last(): number { return Math.max(...this.runs.map((run) => run.end)); }
  get launchEnd(): number { return Math.max(...this.runs.map((run) => run.launchEnd)); }

  home(): void {
    const span = this.launchEnd;
    this.show(-span * 0.01, span * 1.01);
  }
  whole(): void { this.show(this.first, this.last); }

  show(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, kMinSpan), (this.last - this.first) * 1.2);
    const middle = (from + to) / 2;
    let low = middle - span / 2;
    const margin = span * 0.5;
    low = Math.max(this.first - margin, Math.min(low, this.last + margin - span));
    this.from = low;
    this.to = low + span;
    this.redraw();
    this.hooks.moved();
  }
  zoom(factor: number, at = (this.from + this.to) / 2): void {
    const span = Math.min(Math.max((this.to - this.from) * factor, kMinSpan), (this.last - this.first) * 1.2);
    const share = (at - this.from) / (this.to - this.from);
    this.show(at - span * share, at - span * share + span);
  }
  pan(screens: number): void {
    const by = (this.to - this.from) * screens;
    this.show(this.from + by, this.to + by);
  }
  zoomToSlice(): void {
    if (this.selection === null) return;
    const { run, slice } = this.selection;
    const margin = Math.max(run.length[slice] * 0.3, kMinSpan);
    this.show(run.start[slice] - margin, run.endOf(slice) + margin);
  }

  setGrouping(grouping: Grouping): void { this.grouping = grouping; this.rowsChanged(); }
  setUnitFilter(text: string): void { this.unitFilter = text; this.scroll = 0; this.rowsChanged(); }
  toggleCategory(category: string, shown: boolean): void {
    if (shown) this.hiddenCategories.delete(category); else this.hiddenCategories.add(category);
    this.looks.clear();
    this.rowsChanged();
  }
  setPath(run: number, kernel: number | null): void { this.kernelOfPath[run] = kernel; this.redraw(); }
  toggleRow(row: Row): void {
    if (row.open === null) return;
    this.open.set(row.id, !row.open);
    this.rowsChanged();
  }
  slicesArrived(): void {
    if (this.runs.every((run) => run.loaded === run.count)) {
      for (const run of this.runs) this.queues.set(run, queueDepth(run));
    }
    this.redraw();
  }
  themeChanged(): void { this.theme = currentTheme(); this.looks.clear(); this.redraw(); }
  rowsChanged(): void { this.rows = []; this.labelsKey = ""; this.redraw(); }
  counters(run: Run): Counter[] {
    let counters = this.countersByRun.get(run);
    if (counters === undefined) this.countersByRun.set(run, counters = countersOf(run));
    return counters;
  }

  path(run: Run): Path | null {
    const kernel = this.kernelOfPath[run.index];
    return run.paths.find((p) => p.kernel === kernel) ?? null;
  }

  setSearch(text: string): void {
    const words = text.trim().toLowerCase();
    this.looks.clear();
    if (words === "") { this.search = null; this.redraw(); return; }
    const matches = new Map<Run, Uint8Array>();
    for (const run of this.runs) {
      matches.set(run, Uint8Array.from(run.kinds, (kind) => (kind.name.toLowerCase().includes(words) ? 1 : 0)));
    }
    this.search = { text: words, matches };
    this.redraw();
  }
  // Slices whose name has the text, in the order of time.
  found(): Selection[] {
    if (this.search === null) return [];
    const out: Selection[] = [];
    for (const run of this.runs) {
      const match = this.search.matches.get(run)!;
      for (let i = 0; i < run.loaded && out.length < 200_000; ++i) if (match[run.kind[i]] !== 0) out.push({ run, slice: i });
    }
    out.sort((a, b) => a.run.start[a.slice] - b.run.start[b.slice] || a.slice - b.slice);
    return out;
  }

  select(selection: Selection | null, reveal = false): void {
    this.selection = selection;
    this.flowSlices = [];
    if (selection !== null) {
      const { run, slice } = selection;
      const flow = run.flow[slice];
      if (flow !== 0) for (let i = 0; i < run.loaded; ++i) if (run.flow[i] === flow) this.flowSlices.push(i);
      if (reveal) this.reveal(selection);
    }
    this.redraw();
    this.hooks.selected(selection);
  }
  // Opens the row of the slice, scrolls to it, and moves the time there.
  reveal(selection: Selection): void {
    const { run, slice } = selection;
    const track = run.trackOf(slice);
    if (!this.rowList().some((row) => row.type === "track" && row.run === run && row.tracks[0] === track)) {
      const group = this.rowList().find((row) => row.type === "group" && row.run === run && row.tracks.includes(track));
      if (group !== undefined) { this.open.set(group.id, true); this.rowsChanged(); }
    }
    const row = this.rowList().find((r) => r.type === "track" && r.run === run && r.tracks[0] === track);
    const view = this.cssHeight - this.top;
    if (row !== undefined && (row.top < this.scroll || row.top + row.height > this.scroll + view)) {
      this.scroll = Math.max(0, row.top - view / 2);
      this.clampScroll();
    }
    const start = run.start[slice], end = run.endOf(slice);
    if (end < this.from || start > this.to) {
      const span = this.to - this.from;
      this.show((start + end) / 2 - span / 2, (start + end) / 2 + span / 2);
    }
  }
  setRange(range: Range | null): void {
    this.range = range === null || range.to === range.from ? null
      : { from: Math.min(range.from, range.to), to: Math.max(range.from, range.to) };
    this.redraw();
    this.hooks.ranged(this.range);
  }

  // The next (1) or previous (-1) slice of the same unit.
  step(by: number): void {
    if (this.selection === null) {
      for (const row of this.rowList()) {
        if (row.type !== "track" && row.type !== "group") continue;
        const track = row.tracks[0];
        const [first, end] = row.run.between(track, this.from, this.to);
        if (first < end) { this.select({ run: row.run, slice: first }, true); return; }
      }
      return;
    }
    const { run, slice } = this.selection;
    const track = run.trackOf(slice);
    const next = slice + by;
    if (next < track.first || next >= track.first + track.slices) return;
    this.select({ run, slice: next }, true);
  }
  // The slice at the same time on the unit above (-1) or below (1).
  stepRow(by: number): void {
    if (this.selection === null) { this.step(1); return; }
    const { run, slice } = this.selection;
    const rows = this.rowList().filter((row) => row.type === "track");
    let at = rows.findIndex((row) => row.run === run && row.tracks[0] === run.trackOf(slice));
    for (at += by; at >= 0 && at < rows.length; at += by) {
      const row = rows[at];
      const [first, end] = row.run.between(row.tracks[0], run.start[slice], run.endOf(slice));
      if (first < end) { this.select({ run: row.run, slice: first }, true); return; }
    }
  }

  // --- where things are --------------------------------------------------------------------------

  private get top(): number { return Math.round((kMini + kAxis) * this.scale); }
  private x(t: number): number { return this.labelWidth + (t - this.from) / (this.to - this.from) * (this.cssWidth - this.labelWidth); }
  private timeAt(x: number): number { return this.from + (x - this.labelWidth) / (this.cssWidth - this.labelWidth) * (this.to - this.from); }

  rowList(): Row[] {
    if (this.rows.length > 0) return this.rows;
    const options = {
      grouping: this.grouping, open: this.open, scale: this.scale, stretch: 1, unitFilter: this.unitFilter,
      showCategory: (category: string) => !this.hiddenCategories.has(category),
      counters: (run: Run) => this.counters(run),
    };
    this.rows = makeRows(this.runs, options);
    // Where there is room, what has a height takes it.
    const room = this.cssHeight - this.top - this.contentHeight();
    const elastic = this.rows.filter((row) => isElastic(row)).reduce((sum, row) => sum + row.height, 0);
    if (room > 0 && elastic > 0) {
      this.rows = makeRows(this.runs, { ...options, stretch: Math.min(2.4, 1 + (room - 2) / elastic) });
    }
    return this.rows;
  }
  private contentHeight(): number {
    const rows = this.rowList();
    return rows.length === 0 ? 0 : rows[rows.length - 1].top + rows[rows.length - 1].height;
  }
  private clampScroll(): void {
    this.scroll = Math.max(0, Math.min(this.scroll, this.contentHeight() - (this.cssHeight - this.top)));
  }
  private rowAt(y: number): Row | null {
    const at = y - this.top + this.scroll;
    if (y < this.top) return null;
    return this.rowList().find((row) => at >= row.top && at < row.top + row.height) ?? null;
  }
  rowTop(row: Row): number { return this.top + row.top - this.scroll; }

  sliceAt(x: number, y: number): Selection | null {
    const row = this.rowAt(y);
    if (row === null || row.type !== "track") return null;
    const run = row.run, track = row.tracks[0];
    const lane = Math.floor((y - this.rowTop(row)) / (15 * this.scale));
    const perPixel = (this.to - this.from) / (this.cssWidth - this.labelWidth);
    const t = this.timeAt(x);
    const [from, to] = run.between(track, t - 2 * perPixel, t + 2 * perPixel);
    let best: number | null = null, bestKey = Infinity;
    for (let i = to - 1; i >= from; --i) {
      if (run.lane[i] !== lane || this.hiddenCategories.has(run.kindOf(i).category)) continue;
      const away = Math.max(run.start[i] - t, t - run.endOf(i), 0);
      // The shortest of those under the pointer: it lies on top.
      const key = away * 1e6 + (run.isWait[run.kind[i]] !== 0 ? 1e5 : 0) + run.length[i] / 1e9;
      if (away <= 2 * perPixel && key < bestKey) { bestKey = key; best = i; }
    }
    return best === null ? null : { run, slice: best };
  }

  // --- drawing -----------------------------------------------------------------------------------

  redraw(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  private look(run: Run, track: Track): Look {
    const key = `${run.letter} ${hueOf(track, "core")} ${categoryOf(track)}`;
    const known = this.looks.get(key);
    if (known !== undefined) return known;
    const rgb = run.kinds.map((kind) => kindColor(kind, hueOf(track, kind.category), this.theme));
    const hidden = new Uint8Array(run.kinds.length + 1);
    run.kinds.forEach((kind, i) => { if (this.hiddenCategories.has(kind.category)) hidden[i] = 1; });
    if (this.hiddenCategories.has("wait")) hidden[run.kinds.length] = 1;
    const look: Look = {
      rgb, colors: Uint32Array.from(rgb, (c) => pixel(c)), hidden, matches: null,
      kindMatches: this.search?.matches.get(run) ?? null,
    };
    if (look.kindMatches !== null) look.matches = (i) => look.kindMatches![run.kind[i]] !== 0;
    this.looks.set(key, look);
    return look;
  }

  private draw(): void {
    const box = this.root.getBoundingClientRect();
    if (box.width === 0) return;
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
    if (scale !== this.scale) { this.scale = scale; this.rows = []; this.labelsKey = ""; }
    this.ratio = window.devicePixelRatio || 1;
    this.cssWidth = Math.round(box.width);
    if (Math.round(box.height) !== this.cssHeight) { this.rows = []; this.labelsKey = ""; }
    this.cssHeight = Math.round(box.height);
    this.labelWidth = Math.round(Math.min(190 * this.scale, this.cssWidth * 0.28));
    this.clampScroll();
    const { canvas, ratio, raster, theme } = this;
    const width = Math.round(this.cssWidth * ratio), height = Math.round(this.cssHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    raster.resize(width, height);
    raster.pixels.fill(pixel(theme.back));
    const left = Math.round(this.labelWidth * ratio);
    const perPixel = (this.to - this.from) / (width - left);
    const rows = this.rowList().filter((row) => this.rowTop(row) + row.height > this.top && this.rowTop(row) < this.cssHeight);

    // Behind: what is before the first launch and after the last is not what counts.
    this.shade(-Infinity, 0, theme);
    this.shade(this.launchEnd, Infinity, theme);
    const marks = this.marks();
    for (const mark of marks.at) {
      raster.fill(this.x(mark) * ratio, this.top * ratio, 1, height, pixel(theme.line));
    }
    for (const row of rows) {
      const y = this.rowTop(row) * ratio, h = row.height * ratio;
      if (row.type === "run" || (row.type === "group" && row.open === true)) {
        raster.fill(left, y, width, h, pixel(theme.panel));
      }
      if (row.type === "counter") this.plotCounter(row, left);
      if (row.type === "group" && row.open === false) {
        const unit = hueOf(row.tracks[0], categoryOf(row.tracks[0]));
        const color = unitColor(unit, theme);
        const share = raster.skyline(row.run, row.tracks, left, y + 2, h - 4, this.from, perPixel, color, theme, this.look(row.run, row.tracks[0]).hidden);
        let sum = 0;
        for (const v of share) sum += v;
        this.meanOf.set(row.id, sum / Math.max(share.length, 1));
      } else if (row.type === "track") {
        const track = row.tracks[0];
        const look = this.look(row.run, track);
        const laneHeight = 15 * this.scale * ratio;
        const [a, b] = row.run.between(track, this.from, this.to);
        const coarse = track.lanes > 1 && track.level !== null && look.matches === null && b - a > 4 * (width - left);
        if (coarse) {
          raster.lane(row.run, track, -1, left, y + 1, h - 3, this.from, perPixel, look, theme);
        } else {
          for (let lane = 0; lane < track.lanes; ++lane) {
            raster.lane(row.run, track, track.lanes === 1 ? -1 : lane, left, y + lane * laneHeight + 1, laneHeight - 1, this.from, perPixel, look, theme);
          }
        }
      }
    }
    const g = canvas.getContext("2d", { alpha: false })!;
    g.setTransform(1, 0, 0, 1, 0, 0);
    if (raster.image !== null) g.putImageData(raster.image, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.textBaseline = "middle";
    this.font(g);
    g.save();
    g.beginPath();
    g.rect(this.labelWidth, this.top, this.cssWidth - this.labelWidth, this.cssHeight - this.top);
    g.clip();
    for (const row of rows) {
      if (row.type === "counter") this.drawCounter(g, row);
      if (row.type === "queue") this.drawQueue(g, row);
      if (row.type === "path") this.drawPathRow(g, row);
      if (row.type === "track") this.drawNames(g, row);
      if (row.type === "group" && row.open === false) this.drawShare(g, row);
      g.fillStyle = css(theme.line);
      g.fillRect(this.labelWidth, this.rowTop(row) + row.height - 1, this.cssWidth, row.depth === 0 ? 1 : 0.5);
    }
    if (this.showPath) for (const run of this.runs) this.drawPath(g, run);
    this.drawFlow(g);
    this.drawSelection(g);
    g.restore();
    this.drawAxis(g, marks);
    this.drawRange(g);
    this.placeLabels(rows);
    canvas.setAttribute("aria-label", `Timeline, ${time(this.from)} to ${time(this.to)} after the first launch, ` +
      `${rows.length} of ${this.rowList().length} rows`);
  }

  private font(g: CanvasRenderingContext2D, size = 11): void {
    g.font = `${size * this.scale}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
  }

  private shade(from: number, to: number, theme: Theme): void {
    const a = Math.max(this.labelWidth, this.x(Math.max(from, this.from))), b = Math.min(this.cssWidth, this.x(Math.min(to, this.to)));
    if (b > a) this.raster.fill(a * this.ratio, this.top * this.ratio, (b - a) * this.ratio, 1e6, pixel(theme.panel));
  }

  private marks(): { at: number[]; step: number } {
    const span = this.to - this.from;
    const wanted = Math.max(2, (this.cssWidth - this.labelWidth) / (110 * this.scale));
    let step = 10 ** Math.floor(Math.log10(span / wanted));
    while (span / step > wanted) step *= String(step / 10 ** Math.floor(Math.log10(step) + 1e-9)).startsWith("2") ? 2.5 : 2;
    step = Math.max(1, step);
    const at: number[] = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) at.push(t);
    return { at, step };
  }

  private drawAxis(g: CanvasRenderingContext2D, marks: { at: number[]; step: number }): void {
    const { theme, scale } = this;
    const mini = kMini * scale;
    g.fillStyle = css(theme.panel);
    g.fillRect(0, 0, this.cssWidth, this.top);
    this.drawMini(g, mini);
    g.fillStyle = theme.dim;
    this.font(g);
    g.textAlign = "left";
    g.fillText(this.runs.some((run) => run.kernels.length > 0) ? "since first launch" : "time", 10, mini + kAxis * scale / 2);
    g.save();
    g.beginPath();
    g.rect(this.labelWidth, mini, this.cssWidth - this.labelWidth, kAxis * scale);
    g.clip();
    const widest = Math.max(Math.abs(this.from), Math.abs(this.to));
    for (const mark of marks.at) {
      const x = this.x(mark);
      g.fillStyle = css(theme.line);
      g.fillRect(x, mini, 1, kAxis * scale);
      g.fillStyle = theme.dim;
      g.fillText(axisTime(Math.abs(mark) < marks.step / 1e6 ? 0 : mark, marks.step, widest), x + 4, mini + kAxis * scale / 2);
    }
    g.restore();
    g.fillStyle = css(theme.line);
    g.fillRect(0, this.top - 1, this.cssWidth, 1);
    g.fillRect(this.labelWidth - 1, 0, 1, this.cssHeight);
  }

  // The launches as a whole, with the part that is shown.
  private drawMini(g: CanvasRenderingContext2D, height: number): void {
    const { theme } = this;
    const columns = Math.round((this.cssWidth - this.labelWidth) / 2);
    const [low, high] = this.miniSpan();
    const per = (high - low) / columns;
    this.runs.forEach((run, i) => {
      const rowHeight = height / this.runs.length;
      const units = ["pt", "vector", "load"].map((name) => run.tracks.filter((t) => t.name === name && t.slices > 0)).filter((t) => t.length > 0);
      const tracks = units[0] ?? run.tracks.filter((t) => t.slices > 0);
      const key = `${low} ${high} ${columns} ${run.loaded} ${i}`;
      let share = this.miniCache.get(i)?.key === key ? this.miniCache.get(i)!.share : null;
      if (share === null) this.miniCache.set(i, { key, share: share = busyShare(run, tracks, columns, low, per) });
      g.fillStyle = css(mix(theme.panel, unitColor(tracks[0]?.name ?? "pt", theme), 0.7));
      for (let x = 0; x < columns; ++x) {
        const h = share[x] * (rowHeight - 4);
        if (h > 0) g.fillRect(this.labelWidth + 2 * x, (i + 1) * rowHeight - 1 - h, 2, h);
      }
    });
    const scaleX = (t: number): number => this.labelWidth + (t - low) / (high - low) * (this.cssWidth - this.labelWidth);
    const a = Math.max(this.labelWidth, scaleX(this.from)), b = Math.min(this.cssWidth, scaleX(this.to));
    g.fillStyle = theme.dark ? "rgb(0 0 0 / 45%)" : "rgb(120 130 145 / 22%)";
    g.fillRect(this.labelWidth, 0, Math.max(0, a - this.labelWidth), height);
    g.fillRect(b, 0, Math.max(0, this.cssWidth - b), height);
    g.strokeStyle = theme.accent;
    g.lineWidth = 1;
    g.strokeRect(a + 0.5, 0.5, Math.max(2, b - a - 1), height - 1);
    g.fillStyle = theme.dim;
    this.font(g);
    g.textAlign = "left";
    g.fillText("overview", 10, height / 2);
  }
  private readonly miniCache = new Map<number, { key: string; share: Float32Array }>();
  private miniSpan(): [number, number] {
    const span = this.launchEnd;
    const isWhole = this.from < -span || this.to > 2 * span;
    return isWhole ? [this.first, this.last] : [-span * 0.01, span * 1.01];
  }

  // The pixels of a counter; drawCounter writes on them.
  private plotCounter(row: Row, left: number): void {
    const { theme, raster, ratio } = this;
    const counter = row.counter!;
    const columns = raster.width - left;
    const values = valuesOf(row.run, counter, columns, this.from, (this.to - this.from) / columns);
    this.plots.delete(row.id);
    if (values === null) return;
    let most = 0, mean = 0;
    for (let x = 0; x < columns; ++x) {
      let sum = 0;
      for (const v of values) sum += v[x];
      mean += sum / columns;
      if (sum > most) most = sum;
    }
    // Of a counter that stays far below its peak, the form is worth more than the distance.
    const { peak } = counter;
    const full = peak > 0 ? (most > peak * 0.25 ? Math.max(peak, most) : Math.max(most * 1.1, peak / 50)) : Math.max(most, 1e-30) * 1.1;
    const colors = counter.series.map((s) => pixel(mix(theme.back, seriesColor(s, theme), theme.dark ? 0.75 : 0.8)));
    raster.areas(values, colors, full, left, (this.rowTop(row) + 2) * ratio, (row.height - 5) * ratio);
    this.plots.set(row.id, { most, mean, full });
  }
  private readonly plots = new Map<string, { most: number; mean: number; full: number }>();

  private drawCounter(g: CanvasRenderingContext2D, row: Row): void {
    const { theme, scale } = this;
    const counter = row.counter!;
    const y = this.rowTop(row) + 2, h = row.height - 5;
    const plot = this.plots.get(row.id);
    if (plot === undefined) {
      g.fillStyle = theme.dim;
      g.fillText("reading ...", this.labelWidth + 8, y + h / 2);
      return;
    }
    const hasPeak = counter.peak > 0 && counter.peakName !== "always";
    if (hasPeak && counter.peak <= plot.full) {
      g.strokeStyle = theme.dim;
      g.setLineDash([4, 4]);
      g.beginPath();
      const line = Math.round(y + h - counter.peak / plot.full * h) + 0.5;
      g.moveTo(this.labelWidth, line);
      g.lineTo(this.cssWidth, line);
      g.stroke();
      g.setLineDash([]);
    }
    this.font(g, 10);
    this.tag(g, `mean ${counter.format(plot.mean)}`, this.labelWidth + 6, y + 7 * scale, "left");
    if (plot.most > 0) {
      const of = hasPeak ? ` of ${counter.format(counter.peak)}` : "";
      this.tag(g, `max ${counter.format(plot.most)}${of}`, this.cssWidth - 6, y + 7 * scale, "right");
    }
    this.font(g);
  }

  private tag(g: CanvasRenderingContext2D, text: string, x: number, y: number, align: CanvasTextAlign): void {
    const width = g.measureText(text).width;
    g.fillStyle = this.theme.dark ? "rgb(17 20 26 / 72%)" : "rgb(255 255 255 / 78%)";
    g.fillRect(align === "left" ? x - 2 : x - width - 2, y - 6 * this.scale, width + 4, 12 * this.scale);
    g.fillStyle = this.theme.dim;
    g.textAlign = align;
    g.fillText(text, x, y);
    g.textAlign = "left";
  }

  private drawShare(g: CanvasRenderingContext2D, row: Row): void {
    this.font(g, 10);
    this.tag(g, `busy ${percent(this.meanOf.get(row.id) ?? 0)}`, this.labelWidth + 6, this.rowTop(row) + 8 * this.scale, "left");
    this.font(g);
  }
  private readonly meanOf = new Map<string, number>(); // of what was drawn last

  private drawQueue(g: CanvasRenderingContext2D, row: Row): void {
    const queue = this.queues.get(row.run);
    if (queue === undefined || queue.times.length === 0) return;
    const y = this.rowTop(row) + 3, h = row.height - 6;
    const most = Math.max(...queue.depth.filter((_, i) => queue.times[i] <= this.to && (queue.times[i + 1] ?? Infinity) >= this.from), 1);
    g.fillStyle = css(mix(this.theme.back, unitColor("control", this.theme), 0.75));
    for (let i = 0; i + 1 < queue.times.length; ++i) {
      if (queue.times[i + 1] < this.from || queue.times[i] > this.to || queue.depth[i] === 0) continue;
      const a = Math.max(this.labelWidth, this.x(queue.times[i])), b = Math.min(this.cssWidth, this.x(queue.times[i + 1]));
      const size = queue.depth[i] / most * h;
      g.fillRect(a, y + h - size, Math.max(0.6, b - a), size);
    }
    this.font(g, 10);
    this.tag(g, `at most ${most}`, this.cssWidth - 6, y + 6 * this.scale, "right");
    this.font(g);
  }

  private drawPathRow(g: CanvasRenderingContext2D, row: Row): void {
    const path = this.path(row.run);
    const y = this.rowTop(row) + 2, h = row.height - 5;
    if (path === null) return;
    const kernel = row.run.kernels[path.kernel];
    let lastX = -1;
    for (const segment of path.segments) {
      if (segment.end < this.from || segment.start > this.to) continue;
      const a = Math.max(this.labelWidth, this.x(segment.start)), b = Math.min(this.cssWidth, this.x(segment.end));
      if (b <= lastX + 0.3) continue;
      lastX = b;
      g.fillStyle = css(causeColor(segment.kind, this.theme));
      g.fillRect(a, y, Math.max(b - a, 0.5), h);
      const text = segment.kind + (segment.name !== "" && segment.name !== segment.kind ? ` ${segment.name}` : "");
      if (b - a > 36) this.clippedText(g, text, a, b, y + h / 2);
      else if (b - a > 3) { g.fillStyle = css(this.theme.back); g.fillRect(b - 0.5, y, 0.5, h); }
    }
    if (kernel !== undefined && (kernel.end < this.from || kernel.start > this.to)) {
      g.fillStyle = this.theme.dim;
      g.fillText(`${kernel.label} is outside of this time`, this.labelWidth + 8, y + h / 2);
    }
  }

  private clippedText(g: CanvasRenderingContext2D, text: string, a: number, b: number, y: number, color = "#10151c"): void {
    const room = b - a - 7 * this.scale;
    const perLetter = 5.4 * this.scale;
    let shown = text;
    if (g.measureText(text).width > room) {
      const letters = Math.floor(room / perLetter) - 1;
      if (letters < 3) return;
      shown = `${text.slice(0, letters)}\u2026`;
      if (g.measureText(shown).width > room + 3) return;
    }
    g.fillStyle = color;
    g.fillText(shown, a + 4 * this.scale, y + 0.5);
  }

  nameOf(run: Run, slice: number): string {
    const kind = run.kindOf(slice);
    if (run.stands[slice] > 1) return `${kind.name} and ${run.stands[slice] - 1} more`;
    if (kind.category === "control" && kind.name.startsWith("COMPUTE")) {
      const kernel = this.kernelOf(run, slice);
      if (kernel !== null) return kernel.label;
    }
    if (kind.category === "step" && run.detail[slice] > 0) return `${kind.name} [${run.detail[slice]}]`;
    return kind.name;
  }
  kernelOf(run: Run, slice: number): Kernel | null {
    const flow = run.flow[slice];
    if (flow === 0) return null;
    return run.kernels.find((k) => k.flow === flow && run.start[slice] <= k.end) ?? null;
  }

  private drawNames(g: CanvasRenderingContext2D, row: Row): void {
    const { run } = row;
    const track = row.tracks[0];
    const perPixel = (this.to - this.from) / (this.cssWidth - this.labelWidth);
    const [from, to] = run.between(track, this.from, this.to);
    if (to - from > 40_000) return;
    const laneHeight = 15 * this.scale;
    const top = this.rowTop(row);
    const smallest = 30 * this.scale * perPixel;
    const look = this.look(run, track);
    for (let i = from; i < to; ++i) {
      if (run.length[i] < smallest || look.hidden[run.kind[i]] !== 0) continue;
      const a = Math.max(this.labelWidth, this.x(run.start[i])), b = Math.min(this.cssWidth, this.x(run.endOf(i)));
      if (b - a < 30 * this.scale) continue;
      const y = top + run.lane[i] * laneHeight + laneHeight / 2;
      const isWait = run.isWait[run.kind[i]] !== 0;
      this.clippedText(g, this.nameOf(run, i), a, b, y, isWait ? this.theme.dim : "#0d1117");
    }
  }

  private centre(run: Run, track: number, lane = 0): number | null {
    for (const row of this.rowList()) {
      if (row.run !== run) continue;
      if (row.type === "track" && row.tracks[0].index === track) {
        return this.rowTop(row) + (lane + 0.5) * 15 * this.scale;
      }
      if (row.type === "group" && row.open === false && row.tracks.some((t) => t.index === track)) {
        return this.rowTop(row) + row.height / 2;
      }
    }
    return null;
  }

  // Through the units, in the order of time.
  private drawPath(g: CanvasRenderingContext2D, run: Run): void {
    const path = this.path(run);
    if (path === null || (path.segments.length > 0 && (path.segments[0].start > this.to || path.segments[path.segments.length - 1].end < this.from))) return;
    const pathRow = this.rowList().find((row) => row.type === "path" && row.run === run);
    const lanes = new Map<number, number | null>();
    const color = this.theme.dark ? "#ff5fa8" : "#c2106a";
    g.strokeStyle = color;
    g.lineWidth = 1.6 * this.scale;
    g.lineJoin = "round";
    g.beginPath();
    let isDown = false, lastX = -1e9, lastY = 0;
    for (const segment of path.segments) {
      if (segment.end < this.from || segment.start > this.to) continue;
      const a = this.x(segment.start), b = this.x(segment.end);
      let y: number | null | undefined = lanes.get(segment.track);
      if (y === undefined) lanes.set(segment.track, y = segment.track < 0 ? null : this.centre(run, segment.track));
      if (y === null || y === undefined) {
        if (segment.track >= 0 || pathRow === undefined) { isDown = false; continue; }
        isDown = false;
        continue;
      }
      if (isDown && b - lastX < 0.7 && Math.abs(y - lastY) < 0.5) continue;
      if (!isDown) g.moveTo(Math.max(a, this.labelWidth), y); else g.lineTo(a, y);
      g.lineTo(Math.min(b, this.cssWidth + 4), y);
      isDown = true;
      lastX = b;
      lastY = y;
    }
    g.stroke();
  }

  private flowChain(run: Run): number[] {
    const host: number[] = [], control: number[] = [], dma: number[] = [];
    for (const i of this.flowSlices) {
      const category = run.kindOf(i).category;
      if (category === "host") host.push(i);
      else if (category === "control") control.push(i);
      else if (category === "dma") dma.push(i);
    }
    const byStart = (a: number, b: number): number => run.start[a] - run.start[b];
    const chain = [...host.sort(byStart).slice(0, 1), ...control.sort(byStart).slice(0, 1), ...dma.sort(byStart).slice(0, 1)];
    if (control.length > 0) {
      const end = run.endOf(control[0]);
      let woken = -1;
      for (const t of run.tracks) {
        if (t.process !== "host") continue;
        const [a, b] = run.between(t, end, Infinity);
        for (let i = a; i < b; ++i) {
          const name = run.kindOf(i).name;
          if ((name === "wait for interrupt" || name === "poll") && run.endOf(i) >= end &&
              (woken < 0 || run.endOf(i) < run.endOf(woken))) woken = i;
        }
      }
      if (woken >= 0) chain.push(woken);
    }
    return chain;
  }

  // From the call of the host through the card to the interrupt.
  private drawFlow(g: CanvasRenderingContext2D): void {
    if (this.selection === null || this.flowSlices.length === 0) return;
    const run = this.selection.run;
    const chain = this.flowChain(run);
    g.strokeStyle = this.theme.accent;
    g.fillStyle = this.theme.accent;
    g.lineWidth = 1.5 * this.scale;
    for (let i = 0; i + 1 < chain.length; ++i) {
      const a = chain[i], b = chain[i + 1];
      const y0 = this.centre(run, run.trackOf(a).index, run.lane[a]), y1 = this.centre(run, run.trackOf(b).index, run.lane[b]);
      if (y0 === null || y1 === null) continue;
      const isAnswer = run.kindOf(b).category === "host";
      const x0 = this.x(isAnswer ? run.endOf(a) : run.start[a]);
      const x1 = this.x(isAnswer ? run.endOf(b) : run.start[b]);
      const bend = Math.max(14, Math.min(60, Math.abs(x1 - x0) / 2));
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1 - 6 * this.scale, y1 - 3.5 * this.scale);
      g.lineTo(x1 - 6 * this.scale, y1 + 3.5 * this.scale);
      g.fill();
    }
  }

  private drawSelection(g: CanvasRenderingContext2D): void {
    if (this.selection === null) return;
    const { run, slice } = this.selection;
    const y = this.centre(run, run.trackOf(slice).index, run.lane[slice]);
    if (y === null) return;
    const a = this.x(run.start[slice]), b = Math.max(this.x(run.endOf(slice)), a + 2);
    g.strokeStyle = this.theme.text;
    g.lineWidth = 2;
    g.strokeRect(Math.max(a, this.labelWidth - 4) - 1, y - 8 * this.scale, Math.min(b, this.cssWidth + 8) - Math.max(a, this.labelWidth - 4) + 2, 16 * this.scale);
  }

  private drawRange(g: CanvasRenderingContext2D): void {
    if (this.range === null) return;
    const a = Math.max(this.labelWidth, this.x(this.range.from)), b = Math.min(this.cssWidth, this.x(this.range.to));
    if (b < this.labelWidth || a > this.cssWidth || b < a) return;
    const mini = kMini * this.scale;
    g.fillStyle = this.theme.dark ? "rgb(125 176 255 / 16%)" : "rgb(31 95 191 / 11%)";
    g.fillRect(a, mini, b - a, this.cssHeight - mini);
    g.fillStyle = this.theme.accent;
    g.fillRect(a, mini, 1, this.cssHeight);
    g.fillRect(b - 1, mini, 1, this.cssHeight);
    this.font(g);
    const text = time(this.range.to - this.range.from);
    const width = g.measureText(text).width + 10;
    const x = Math.max(this.labelWidth, Math.min((a + b - width) / 2, this.cssWidth - width));
    g.fillRect(x, mini + 3, width, 17 * this.scale);
    g.fillStyle = this.theme.dark ? "#0b0e13" : "#fff";
    g.fillText(text, x + 5, mini + 3 + 8.5 * this.scale);
  }

  // --- labels ------------------------------------------------------------------------------------

  private placeLabels(rows: Row[]): void {
    const key = `${this.scroll} ${this.cssHeight} ${this.labelWidth} ${this.scale} ${this.theme.dark} ${rows.map((r) => r.id + r.open).join()}`;
    if (key === this.labelsKey) return;
    this.labelsKey = key;
    this.labels.style.width = `${this.labelWidth}px`;
    this.labels.style.top = `${this.top}px`;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined;
    this.labels.replaceChildren(...rows.map((row) => {
      const element = document.createElement("div");
      element.className = `label ${row.type}`;
      element.dataset.row = row.id;
      element.style.top = `${this.rowTop(row) - this.top}px`;
      element.style.height = `${row.height}px`;
      element.style.lineHeight = `${Math.min(row.height, 30 * this.scale)}px`;
      element.style.paddingLeft = `${(6 + row.depth * 14) * this.scale}px`;
      element.setAttribute("role", "treeitem");
      element.setAttribute("aria-level", String(row.depth + 1));
      element.tabIndex = row.open === null ? -1 : 0;
      if (row.open !== null) {
        element.setAttribute("aria-expanded", String(row.open));
        const arrow = document.createElement("span");
        arrow.className = "arrow";
        arrow.textContent = row.open ? "\u25be" : "\u25b8";
        arrow.ariaHidden = "true";
        element.append(arrow);
        element.addEventListener("click", () => this.toggleRow(row));
        element.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") { this.toggleRow(row); event.preventDefault(); event.stopPropagation(); }
        });
      }
      const name = document.createElement("span");
      name.textContent = row.label;
      element.append(name);
      if (row.note !== "") {
        const note = document.createElement("small");
        note.textContent = ` ${row.note}`;
        element.append(note);
      }
      if (row.counter !== null) {
        element.title = row.counter.what;
        if (row.counter.series.length > 1) {
          const legend = document.createElement("small");
          legend.className = "legend";
          for (const s of row.counter.series) {
            const dot = document.createElement("i");
            dot.style.background = css(seriesColor(s, this.theme));
            legend.append(dot, s.name);
          }
          element.append(legend);
        }
      }
      return element;
    }));
    if (focused !== undefined) {
      for (const element of this.labels.children) {
        if ((element as HTMLElement).dataset.row === focused) (element as HTMLElement).focus({ preventScroll: true });
      }
    }
  }

  // --- mouse and keys ----------------------------------------------------------------------------

  private listen(): void {
    const { canvas, root } = this;
    root.addEventListener("wheel", (event) => {
      const x = event.clientX - root.getBoundingClientRect().left;
      const unit = event.deltaMode === 1 ? 18 : 1;
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.004))), this.timeAt(Math.max(x, this.labelWidth)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit / (this.cssWidth - this.labelWidth));
      } else {
        const before = this.scroll;
        this.scroll += event.deltaY * unit;
        this.clampScroll();
        if (this.scroll === before) return; // the page goes on
        this.redraw();
      }
      event.preventDefault();
    }, { passive: false });

    let drag: { x: number; y: number; from: number; to: number; scroll: number; kind: "pan" | "range" | "mini"; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const kind = y < kMini * this.scale ? "mini" : y < this.top || event.shiftKey ? "range" : "pan";
      drag = { x, y, from: this.from, to: this.to, scroll: this.scroll, kind, moved: false };
      canvas.setPointerCapture(event.pointerId);
      if (kind === "mini") this.moveMini(x);
      this.tip.hidden = true;
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (drag === null) { this.hover(x, y); return; }
      if (!drag.moved && Math.abs(x - drag.x) < 4 && Math.abs(y - drag.y) < 4) return;
      drag.moved = true;
      if (drag.kind === "mini") this.moveMini(x);
      if (drag.kind === "range") this.setRange({ from: this.timeAt(drag.x), to: this.timeAt(x) });
      if (drag.kind === "pan") {
        const by = (drag.x - x) / (this.cssWidth - this.labelWidth) * (drag.to - drag.from);
        this.scroll = drag.scroll + drag.y - y;
        this.clampScroll();
        this.show(drag.from + by, drag.to + by);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (was === null || was.moved || was.kind === "mini") return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (was.kind === "range" && y < this.top) { this.setRange(null); return; }
      canvas.focus({ preventScroll: true });
      const row = this.rowAt(y);
      if (row !== null && row.type === "path") {
        const segment = this.path(row.run)?.segments.find((s) => s.start <= this.timeAt(x) && s.end >= this.timeAt(x));
        if (segment !== undefined) this.setRange({ from: segment.start, to: segment.end });
        return;
      }
      this.select(this.sliceAt(x, y));
    });
    canvas.addEventListener("dblclick", (event) => {
      const box = canvas.getBoundingClientRect();
      const row = this.rowAt(event.clientY - box.top);
      if (row !== null && row.type === "group") this.toggleRow(row);
      else this.zoomToSlice();
    });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => { if (this.key(event)) event.preventDefault(); });
  }

  private moveMini(x: number): void {
    const [low, high] = this.miniSpan();
    const t = low + (x - this.labelWidth) / (this.cssWidth - this.labelWidth) * (high - low);
    const span = this.to - this.from;
    this.show(t - span / 2, t + span / 2);
  }

  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
      case "w": case "W": case "+": case "=": this.zoom(0.7, this.anchor()); return true;
      case "s": case "S": case "-": this.zoom(1 / 0.7, this.anchor()); return true;
      case "a": case "A": this.pan(-0.15); return true;
      case "d": case "D": this.pan(0.15); return true;
      case "ArrowLeft": this.step(-1); return true;
      case "ArrowRight": this.step(1); return true;
      case "ArrowUp": this.stepRow(-1); return true;
      case "ArrowDown": this.stepRow(1); return true;
      case "PageDown": this.scroll += this.cssHeight * 0.7; this.clampScroll(); this.redraw(); return true;
      case "PageUp": this.scroll -= this.cssHeight * 0.7; this.clampScroll(); this.redraw(); return true;
      case "Home": case "h": this.home(); return true;
      case "0": this.whole(); return true;
      case "Enter": case "f": this.zoomToSlice(); return true;
      case "m": case "M":
        if (this.selection !== null) {
          const { run, slice } = this.selection;
          this.setRange({ from: run.start[slice], to: run.endOf(slice) });
        } else {
          this.setRange({ from: this.from, to: this.to });
        }
        return true;
      case "z": if (this.range !== null) this.show(this.range.from, this.range.to); return true;
      case "p": this.showPath = !this.showPath; this.redraw(); return true;
      case "Escape": this.select(null); this.setRange(null); return true;
      default: return false;
    }
  }
  // Keys zoom about the selection if it is in sight.
  private anchor(): number {
    if (this.selection !== null) {
      const middle = this.selection.run.start[this.selection.slice] + this.selection.run.length[this.selection.slice] / 2;
      if (middle > this.from && middle < this.to) return middle;
    }
    return (this.from + this.to) / 2;
  }

  private hover(x: number, y: number): void {
    const row = this.rowAt(y);
    this.canvas.style.cursor = y < this.top && y > kMini * this.scale ? "col-resize" : "default";
    let text: string[] = [];
    if (row !== null && x > this.labelWidth) {
      const t = this.timeAt(x);
      if (row.type === "track") {
        const hit = this.sliceAt(x, y);
        if (hit !== null) { this.canvas.style.cursor = "pointer"; text = this.describe(hit); }
      } else if (row.type === "path") {
        const segment = this.path(row.run)?.segments.find((s) => s.start <= t && s.end >= t);
        if (segment !== undefined) {
          text = [`depends on ${segment.kind}${segment.name === "" ? "" : ` (${segment.name})`}`, time(segment.end - segment.start),
            segment.track < 0 ? "" : row.run.tracks[segment.track].path];
        }
      } else if (row.type === "counter" && row.counter !== null) {
        const per = (this.to - this.from) / (this.cssWidth - this.labelWidth);
        const values = valuesOf(row.run, row.counter, 1, t - per, 2 * per);
        if (values !== null) {
          text = [`${row.counter.name} at ${time(t)}`, ...row.counter.series.map((s, i) => `${s.name}: ${row.counter!.format(values[i][0])}`)];
          if (row.counter.peak > 0 && row.counter.peakName !== "always") text.push(`${row.counter.peakName}: ${row.counter.format(row.counter.peak)}`);
        }
      } else if (row.type === "group") {
        const per = (this.to - this.from) / (this.cssWidth - this.labelWidth);
        const share = busyShare(row.run, row.tracks, 1, t - per, 2 * per)[0];
        text = [row.label, `${percent(share)} busy at ${time(t)}`, "click the name to open"];
      } else if (row.type === "queue") {
        const queue = this.queues.get(row.run);
        if (queue !== undefined) {
          let i = queue.times.findIndex((q) => q > t) - 1;
          if (i === -2) i = queue.times.length - 1;
          text = [`${i < 0 ? 0 : queue.depth[i]} control blocks queued or running at ${time(t)}`];
        }
      }
    }
    this.tip.hidden = text.length === 0;
    if (text.length === 0) return;
    this.tip.textContent = text.filter((line) => line !== "").join("\n");
    const width = this.tip.offsetWidth, height = this.tip.offsetHeight;
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, this.cssWidth - width - 6))}px`;
    this.tip.style.top = `${y + 18 + height > this.cssHeight ? y - height - 8 : y + 18}px`;
  }

  describe(selection: Selection): string[] {
    const { run, slice } = selection;
    const kind = run.kindOf(slice);
    const lines = [this.nameOf(run, slice), `${run.trackOf(slice).path}`, `${time(run.length[slice])} from ${time(run.start[slice])}`];
    if (run.bytes[slice] > 0) {
      const rate = run.length[slice] > 0 ? `, ${(run.bytes[slice] / run.length[slice] * 1e3).toFixed(2)} GB/s` : "";
      lines.push(`${bytes(run.bytes[slice])}${rate}`);
    }
    if (kind.category === "wait") {
      const by = run.tracks[run.detail[slice]];
      if (by !== undefined) lines.push(`ended by ${by.path}`);
    }
    const kernel = this.kernelOf(run, slice);
    if (kernel !== null && kind.category !== "control") lines.push(`in kernel ${kernel.label}`);
    return lines;
  }
}

export function longest(run: Run): Kernel | null {
  let best: Kernel | null = null;
  for (const kernel of run.kernels) if (best === null || kernel.end - kernel.start > best.end - best.start) best = kernel;
  return best;
}
