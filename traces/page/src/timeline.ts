// SPDX-License-Identifier: Apache-2.0
// The timeline: what is shown of the runs, and where. It has one canvas for axis and rows, and labels
// beside it as elements that a screen reader finds. It knows neither who draws it (draw.ts, through the
// hook `draw`) nor who moves it (input.ts calls its methods).

import { currentTheme, hueOf, kindColor, pixel, type Theme } from "./colors";
import { countersOf, queueDepth, type Counter } from "./counters";
import { Raster, type Look } from "./raster";
import { categoryOf, isElastic, kAxis, kLane, kMini, makeRows, type Grouping, type Row } from "./rows";
import type { Path, PathSegment, Run, Track } from "./run";

export interface Selection { run: Run; slice: number }
export interface Range { from: number; to: number }
export interface Hooks {
  selected: (selection: Selection | null) => void;
  ranged: (range: Range | null) => void;
  draw: () => void; // once a frame at most, after anything has changed
}

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
  kernelOfPath: (number | "all" | null)[]; // by run
  rows: Row[] = [];
  readonly canvas: HTMLCanvasElement;
  readonly labels: HTMLElement;
  readonly tip: HTMLElement;
  readonly raster = new Raster();
  private readonly open = new Map<string, boolean>();
  private readonly countersByRun = new Map<Run, Counter[]>();
  readonly queues = new Map<Run, { times: number[]; depth: number[] }>();
  private readonly looks = new Map<string, Look>();
  theme: Theme = currentTheme();
  scroll = 0;
  scale = 1;
  ratio = 1;
  cssWidth = 0;
  cssHeight = 0;
  labelWidth = 190;
  private frame = 0;
  labelsKey = "";
  private search: { text: string; matches: Map<Run, Uint8Array> } | null = null;
  flowSlices: number[] = [];

  constructor(readonly root: HTMLElement, readonly runs: Run[], private readonly hooks: Hooks) {
    this.canvas = root.querySelector("canvas")!;
    this.labels = root.querySelector(".labels")!;
    this.tip = root.querySelector(".tip")!;
    this.kernelOfPath = runs.map(() => "all");
    this.home();
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
  setPath(run: number, kernel: number | "all" | null): void { this.kernelOfPath[run] = kernel; this.redraw(); }
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

  paths(run: Run): Path[] {
    const kernel = this.kernelOfPath[run.index];
    return kernel === "all" ? run.paths : run.paths.filter((p) => p.kernel === kernel);
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

  get top(): number { return Math.round((kMini + kAxis) * this.scale); }
  x(t: number): number { return this.labelWidth + (t - this.from) / (this.to - this.from) * (this.cssWidth - this.labelWidth); }
  timeAt(x: number): number { return this.from + (x - this.labelWidth) / (this.cssWidth - this.labelWidth) * (this.to - this.from); }

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
  clampScroll(): void {
    this.scroll = Math.max(0, Math.min(this.scroll, this.contentHeight() - (this.cssHeight - this.top)));
  }
  rowAt(y: number): Row | null {
    const at = y - this.top + this.scroll;
    if (y < this.top) return null;
    return this.rowList().find((row) => at >= row.top && at < row.top + row.height) ?? null;
  }
  rowTop(row: Row): number { return this.top + row.top - this.scroll; }

  sliceAt(x: number, y: number): Selection | null {
    const row = this.rowAt(y);
    if (row === null || row.type !== "track") return null;
    const run = row.run, track = row.tracks[0];
    const lane = Math.floor((y - this.rowTop(row)) / (kLane * this.scale));
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

  // The time of the overview: the launches, or the whole run once more than these is shown.
  miniSpan(): [number, number] {
    const span = this.launchEnd;
    const isWhole = this.from < -span || this.to > 2 * span;
    return isWhole ? [this.first, this.last] : [-span * 0.01, span * 1.01];
  }
  // The segment of a critical path that explains a moment.
  segmentAt(run: Run, t: number): PathSegment | undefined {
    for (const path of this.paths(run)) {
      const found = path.segments.find((s) => s.start <= t && s.end >= t);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  // --- how it looks ------------------------------------------------------------------------------

  redraw(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.hooks.draw(); });
  }

  font(g: CanvasRenderingContext2D, size = 11): void {
    g.font = `${size * this.scale}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
  }

  look(run: Run, track: Track): Look {
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
}
