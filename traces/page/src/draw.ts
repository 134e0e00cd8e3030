// SPDX-License-Identifier: Apache-2.0
// Draws what the timeline holds: axis, overview, counters, units. The pixels of lanes and plots come
// from raster.ts; text and lines go on top.

import { causeColor, css, hueOf, mix, pixel, unitColor, type Theme } from "./colors";
import { seriesColor, valuesOf } from "./counters";
import { axisTime, percent, time } from "./format";
import { placeLabels } from "./labels";
import { Overlay } from "./overlay";
import { busyShare } from "./raster";
import { categoryOf, kAxis, kLane, kMini, type Row } from "./rows";
import type { Timeline } from "./timeline";
import { nameOf } from "./names";

export class Painter {
  private readonly overlay: Overlay;
  constructor(private readonly view: Timeline) { this.overlay = new Overlay(view); }

  draw(): void {
    const box = this.view.root.getBoundingClientRect();
    if (box.width === 0) return;
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
    if (scale !== this.view.scale) { this.view.scale = scale; this.view.rows = []; this.view.labelsKey = ""; }
    this.view.ratio = window.devicePixelRatio || 1;
    this.view.cssWidth = Math.round(box.width);
    if (Math.round(box.height) !== this.view.cssHeight) { this.view.rows = []; this.view.labelsKey = ""; }
    this.view.cssHeight = Math.round(box.height);
    this.view.labelWidth = Math.round(Math.min(190 * this.view.scale, this.view.cssWidth * 0.28));
    this.view.clampScroll();
    const { canvas, ratio, raster, theme } = this.view;
    const width = Math.round(this.view.cssWidth * ratio), height = Math.round(this.view.cssHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    raster.resize(width, height);
    raster.pixels.fill(pixel(theme.back));
    const left = Math.round(this.view.labelWidth * ratio);
    const perPixel = (this.view.to - this.view.from) / (width - left);
    const rows = this.view.rowList().filter((row) => this.view.rowTop(row) + row.height > this.view.top && this.view.rowTop(row) < this.view.cssHeight);

    // Behind: what is before the first launch and after the last is not what counts.
    this.shade(-Infinity, 0, theme);
    this.shade(this.view.launchEnd, Infinity, theme);
    const marks = this.marks();
    for (const mark of marks.at) {
      raster.fill(this.view.x(mark) * ratio, this.view.top * ratio, 1, height, pixel(theme.line));
    }
    for (const row of rows) {
      const y = this.view.rowTop(row) * ratio, h = row.height * ratio;
      if (row.type === "run" || (row.type === "group" && row.open === true)) {
        raster.fill(left, y, width, h, pixel(theme.panel));
      }
      if (row.type === "counter") this.plotCounter(row, left);
      if (row.type === "group" && row.open === false) {
        const unit = hueOf(row.tracks[0], categoryOf(row.tracks[0]));
        const color = unitColor(unit, theme);
        const share = raster.skyline(row.run, row.tracks, left, y + 2, h - 4, this.view.from, perPixel, color, theme, this.view.look(row.run, row.tracks[0]).hidden);
        let sum = 0;
        for (const v of share) sum += v;
        this.meanOf.set(row.id, sum / Math.max(share.length, 1));
      } else if (row.type === "track") {
        const track = row.tracks[0];
        const look = this.view.look(row.run, track);
        const laneHeight = kLane * this.view.scale * ratio;
        const [a, b] = row.run.between(track, this.view.from, this.view.to);
        const coarse = track.lanes > 1 && track.level !== null && look.matches === null && b - a > 4 * (width - left);
        if (coarse) {
          raster.lane(row.run, track, -1, left, y + 1, h - 3, this.view.from, perPixel, look, theme);
        } else {
          for (let lane = 0; lane < track.lanes; ++lane) {
            raster.lane(row.run, track, track.lanes === 1 ? -1 : lane, left, y + lane * laneHeight + 1, laneHeight - 1, this.view.from, perPixel, look, theme);
          }
        }
      }
    }
    const g = canvas.getContext("2d", { alpha: false })!;
    g.setTransform(1, 0, 0, 1, 0, 0);
    if (raster.image !== null) g.putImageData(raster.image, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.textBaseline = "middle";
    this.view.font(g);
    g.save();
    g.beginPath();
    g.rect(this.view.labelWidth, this.view.top, this.view.cssWidth - this.view.labelWidth, this.view.cssHeight - this.view.top);
    g.clip();
    for (const row of rows) {
      if (row.type === "counter") this.drawCounter(g, row);
      if (row.type === "queue") this.drawQueue(g, row);
      if (row.type === "path") this.drawPathRow(g, row);
      if (row.type === "track") this.drawNames(g, row);
      if (row.type === "group" && row.open === false) this.drawShare(g, row);
      g.fillStyle = css(theme.line);
      g.fillRect(this.view.labelWidth, this.view.rowTop(row) + row.height - 1, this.view.cssWidth, row.depth === 0 ? 1 : 0.5);
    }
    this.overlay.draw(g);
    g.restore();
    this.drawAxis(g, marks);
    this.overlay.drawRange(g);
    placeLabels(this.view, rows);
    canvas.setAttribute("aria-label", `Timeline, ${time(this.view.from)} to ${time(this.view.to)} after the first launch, ` +
      `${rows.length} of ${this.view.rowList().length} rows`);
  }

  private shade(from: number, to: number, theme: Theme): void {
    const a = Math.max(this.view.labelWidth, this.view.x(Math.max(from, this.view.from))), b = Math.min(this.view.cssWidth, this.view.x(Math.min(to, this.view.to)));
    if (b > a) this.view.raster.fill(a * this.view.ratio, this.view.top * this.view.ratio, (b - a) * this.view.ratio, 1e6, pixel(theme.panel));
  }

  private marks(): { at: number[]; step: number } {
    const span = this.view.to - this.view.from;
    const wanted = Math.max(2, (this.view.cssWidth - this.view.labelWidth) / (110 * this.view.scale));
    let step = 10 ** Math.floor(Math.log10(span / wanted));
    while (span / step > wanted) step *= String(step / 10 ** Math.floor(Math.log10(step) + 1e-9)).startsWith("2") ? 2.5 : 2;
    step = Math.max(1, step);
    const at: number[] = [];
    for (let t = Math.ceil(this.view.from / step) * step; t <= this.view.to; t += step) at.push(t);
    return { at, step };
  }

  private drawAxis(g: CanvasRenderingContext2D, marks: { at: number[]; step: number }): void {
    const { theme, scale } = this.view;
    const mini = kMini * scale;
    g.fillStyle = css(theme.panel);
    g.fillRect(0, 0, this.view.cssWidth, this.view.top);
    this.drawMini(g, mini);
    g.fillStyle = theme.dim;
    this.view.font(g);
    g.textAlign = "left";
    g.fillText(this.view.runs.some((run) => run.kernels.length > 0) ? "since first launch" : "time", 10, mini + kAxis * scale / 2);
    g.save();
    g.beginPath();
    g.rect(this.view.labelWidth, mini, this.view.cssWidth - this.view.labelWidth, kAxis * scale);
    g.clip();
    const widest = Math.max(Math.abs(this.view.from), Math.abs(this.view.to));
    for (const mark of marks.at) {
      const x = this.view.x(mark);
      g.fillStyle = css(theme.line);
      g.fillRect(x, mini, 1, kAxis * scale);
      g.fillStyle = theme.dim;
      g.fillText(axisTime(Math.abs(mark) < marks.step / 1e6 ? 0 : mark, marks.step, widest), x + 4, mini + kAxis * scale / 2);
    }
    g.restore();
    g.fillStyle = css(theme.line);
    g.fillRect(0, this.view.top - 1, this.view.cssWidth, 1);
    g.fillRect(this.view.labelWidth - 1, 0, 1, this.view.cssHeight);
  }

  // The launches as a whole, with the part that is shown.
  private drawMini(g: CanvasRenderingContext2D, height: number): void {
    const { theme } = this.view;
    const columns = Math.round((this.view.cssWidth - this.view.labelWidth) / 2);
    const [low, high] = this.view.miniSpan();
    const per = (high - low) / columns;
    this.view.runs.forEach((run, i) => {
      const rowHeight = height / this.view.runs.length;
      const units = ["pt", "vector", "load"].map((name) => run.tracks.filter((t) => t.name === name && t.slices > 0)).filter((t) => t.length > 0);
      const tracks = units[0] ?? run.tracks.filter((t) => t.slices > 0);
      const key = `${low} ${high} ${columns} ${run.loaded} ${i}`;
      let share = this.miniCache.get(i)?.key === key ? this.miniCache.get(i)!.share : null;
      if (share === null) this.miniCache.set(i, { key, share: share = busyShare(run, tracks, columns, low, per) });
      g.fillStyle = css(mix(theme.panel, unitColor(tracks[0]?.name ?? "pt", theme), 0.7));
      for (let x = 0; x < columns; ++x) {
        const h = share[x] * (rowHeight - 4);
        if (h > 0) g.fillRect(this.view.labelWidth + 2 * x, (i + 1) * rowHeight - 1 - h, 2, h);
      }
    });
    const scaleX = (t: number): number => this.view.labelWidth + (t - low) / (high - low) * (this.view.cssWidth - this.view.labelWidth);
    const a = Math.max(this.view.labelWidth, scaleX(this.view.from)), b = Math.min(this.view.cssWidth, scaleX(this.view.to));
    g.fillStyle = theme.dark ? "rgb(0 0 0 / 45%)" : "rgb(120 130 145 / 22%)";
    g.fillRect(this.view.labelWidth, 0, Math.max(0, a - this.view.labelWidth), height);
    g.fillRect(b, 0, Math.max(0, this.view.cssWidth - b), height);
    g.strokeStyle = theme.accent;
    g.lineWidth = 1;
    g.strokeRect(a + 0.5, 0.5, Math.max(2, b - a - 1), height - 1);
    g.fillStyle = theme.dim;
    this.view.font(g);
    g.textAlign = "left";
    g.fillText("overview", 10, height / 2);
  }
  private readonly miniCache = new Map<number, { key: string; share: Float32Array }>();

  // The pixels of a counter; drawCounter writes on them.
  private plotCounter(row: Row, left: number): void {
    const { theme, raster, ratio } = this.view;
    const counter = row.counter!;
    const columns = raster.width - left;
    const values = valuesOf(row.run, counter, columns, this.view.from, (this.view.to - this.view.from) / columns);
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
    raster.areas(values, colors, full, left, (this.view.rowTop(row) + 2) * ratio, (row.height - 5) * ratio);
    this.plots.set(row.id, { most, mean, full });
  }
  private readonly plots = new Map<string, { most: number; mean: number; full: number }>();

  private drawCounter(g: CanvasRenderingContext2D, row: Row): void {
    const { theme, scale } = this.view;
    const counter = row.counter!;
    const y = this.view.rowTop(row) + 2, h = row.height - 5;
    const plot = this.plots.get(row.id);
    if (plot === undefined) {
      g.fillStyle = theme.dim;
      g.fillText("reading ...", this.view.labelWidth + 8, y + h / 2);
      return;
    }
    const hasPeak = counter.peak > 0 && counter.peakName !== "always";
    if (hasPeak && counter.peak <= plot.full) {
      g.strokeStyle = theme.dim;
      g.setLineDash([4, 4]);
      g.beginPath();
      const line = Math.round(y + h - counter.peak / plot.full * h) + 0.5;
      g.moveTo(this.view.labelWidth, line);
      g.lineTo(this.view.cssWidth, line);
      g.stroke();
      g.setLineDash([]);
    }
    this.view.font(g, 10);
    this.tag(g, `mean ${counter.format(plot.mean)}`, this.view.labelWidth + 6, y + 7 * scale, "left");
    if (plot.most > 0) {
      const of = hasPeak ? ` of ${counter.format(counter.peak)}` : "";
      this.tag(g, `max ${counter.format(plot.most)}${of}`, this.view.cssWidth - 6, y + 7 * scale, "right");
    }
    this.view.font(g);
  }

  private tag(g: CanvasRenderingContext2D, text: string, x: number, y: number, align: CanvasTextAlign): void {
    const width = g.measureText(text).width;
    g.fillStyle = this.view.theme.dark ? "rgb(17 20 26 / 72%)" : "rgb(255 255 255 / 78%)";
    g.fillRect(align === "left" ? x - 2 : x - width - 2, y - 6 * this.view.scale, width + 4, 12 * this.view.scale);
    g.fillStyle = this.view.theme.dim;
    g.textAlign = align;
    g.fillText(text, x, y);
    g.textAlign = "left";
  }

  private drawShare(g: CanvasRenderingContext2D, row: Row): void {
    this.view.font(g, 10);
    this.tag(g, `busy ${percent(this.meanOf.get(row.id) ?? 0)}`, this.view.labelWidth + 6, this.view.rowTop(row) + 8 * this.view.scale, "left");
    this.view.font(g);
  }
  private readonly meanOf = new Map<string, number>(); // of what was drawn last

  private drawQueue(g: CanvasRenderingContext2D, row: Row): void {
    const queue = this.view.queues.get(row.run);
    if (queue === undefined || queue.times.length === 0) return;
    const y = this.view.rowTop(row) + 3, h = row.height - 6;
    const most = Math.max(...queue.depth.filter((_, i) => queue.times[i] <= this.view.to && (queue.times[i + 1] ?? Infinity) >= this.view.from), 1);
    g.fillStyle = css(mix(this.view.theme.back, unitColor("control", this.view.theme), 0.75));
    for (let i = 0; i + 1 < queue.times.length; ++i) {
      if (queue.times[i + 1] < this.view.from || queue.times[i] > this.view.to || queue.depth[i] === 0) continue;
      const a = Math.max(this.view.labelWidth, this.view.x(queue.times[i])), b = Math.min(this.view.cssWidth, this.view.x(queue.times[i + 1]));
      const size = queue.depth[i] / most * h;
      g.fillRect(a, y + h - size, Math.max(0.6, b - a), size);
    }
    this.view.font(g, 10);
    this.tag(g, `at most ${most}`, this.view.cssWidth - 6, y + 6 * this.view.scale, "right");
    this.view.font(g);
  }

  private drawPathRow(g: CanvasRenderingContext2D, row: Row): void {
    const y = this.view.rowTop(row) + 2, h = row.height - 5;
    const paths = this.view.paths(row.run);
    let isSeen = paths.length === 0;
    for (const path of paths) {
      let lastX = -1;
      for (const segment of path.segments) {
        if (segment.end < this.view.from || segment.start > this.view.to) continue;
        isSeen = true;
        const a = Math.max(this.view.labelWidth, this.view.x(segment.start)), b = Math.min(this.view.cssWidth, this.view.x(segment.end));
        if (b <= lastX + 0.3) continue;
        lastX = b;
        g.fillStyle = css(causeColor(segment.kind, this.view.theme));
        g.fillRect(a, y, Math.max(b - a, 0.5), h);
        const text = segment.kind + (segment.name !== "" && segment.name !== segment.kind ? ` ${segment.name}` : "");
        if (b - a > 36) this.clippedText(g, text, a, b, y + h / 2);
        else if (b - a > 3) { g.fillStyle = css(this.view.theme.back); g.fillRect(b - 0.5, y, 0.5, h); }
      }
    }
    if (!isSeen) {
      g.fillStyle = this.view.theme.dim;
      g.fillText("outside of this time", this.view.labelWidth + 8, y + h / 2);
    }
  }

  private clippedText(g: CanvasRenderingContext2D, text: string, a: number, b: number, y: number, color = "#10151c"): void {
    const room = b - a - 7 * this.view.scale;
    const perLetter = 5.4 * this.view.scale;
    let shown = text;
    if (g.measureText(text).width > room) {
      const letters = Math.floor(room / perLetter) - 1;
      if (letters < 3) return;
      shown = `${text.slice(0, letters)}\u2026`;
      if (g.measureText(shown).width > room + 3) return;
    }
    g.fillStyle = color;
    g.fillText(shown, a + 4 * this.view.scale, y + 0.5);
  }

  private drawNames(g: CanvasRenderingContext2D, row: Row): void {
    const { run } = row;
    const track = row.tracks[0];
    const perPixel = (this.view.to - this.view.from) / (this.view.cssWidth - this.view.labelWidth);
    const [from, to] = run.between(track, this.view.from, this.view.to);
    if (to - from > 40_000) return;
    const laneHeight = kLane * this.view.scale;
    const top = this.view.rowTop(row);
    const smallest = 30 * this.view.scale * perPixel;
    const look = this.view.look(run, track);
    for (let i = from; i < to; ++i) {
      if (run.length[i] < smallest || look.hidden[run.kind[i]] !== 0) continue;
      const a = Math.max(this.view.labelWidth, this.view.x(run.start[i])), b = Math.min(this.view.cssWidth, this.view.x(run.endOf(i)));
      if (b - a < 30 * this.view.scale) continue;
      const y = top + run.lane[i] * laneHeight + laneHeight / 2;
      const isWait = run.isWait[run.kind[i]] !== 0;
      this.clippedText(g, nameOf(run, i), a, b, y, isWait ? this.view.theme.dim : "#0d1117");
    }
  }
}
