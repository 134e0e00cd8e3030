// SPDX-License-Identifier: Apache-2.0
// Lanes as pixels. A canvas that is asked for a hundred thousand rectangles takes longer than a
// frame; writing the pixels takes a few milliseconds, whatever the number of slices.

import { blend, mix, pixel, type Rgb, type Theme } from "./colors";
import type { Run, Track } from "./run";

const noKind = 0xffff;

// What to draw of the slices: all are there, those that do not match are faint.
export interface Look {
  colors: Uint32Array;        // by kind, packed pixels
  rgb: Rgb[];                 // by kind
  hidden: Uint8Array;         // by kind
  matches: ((slice: number) => boolean) | null; // null: all
  kindMatches: Uint8Array | null;
}

export class Raster {
  width = 0;
  height = 0;
  image: ImageData | null = null;
  pixels = new Uint32Array(0);
  private solid = new Uint32Array(0); // colour of a column, 0: none
  private cover = new Float32Array(0); // share of a column, for what is shorter than it
  private coverKind = new Int32Array(0);
  private hatch = new Uint8Array(0);

  resize(width: number, height: number): void {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.image = new ImageData(Math.max(width, 1), Math.max(height, 1));
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.solid = new Uint32Array(width);
    this.cover = new Float32Array(width);
    this.coverKind = new Int32Array(width);
    this.hatch = new Uint8Array(width);
  }

  fill(x: number, y: number, width: number, height: number, color: number): void {
    const x0 = Math.max(0, Math.round(x)), x1 = Math.min(this.width, Math.round(x + width));
    const y0 = Math.max(0, Math.round(y)), y1 = Math.min(this.height, Math.round(y + height));
    for (let row = y0; row < y1; ++row) this.pixels.fill(color, row * this.width + x0, row * this.width + x1);
  }

  // One lane of a track, or all of it when `lane` is -1. left: of the time axis; perPixel: ps.
  lane(run: Run, track: Track, lane: number, left: number, top: number, height: number, t0: number,
    perPixel: number, look: Look, theme: Theme): void {
    const columns = this.width - left;
    const t1 = t0 + columns * perPixel;
    const [from, to] = run.between(track, t0, t1);
    this.solid.fill(0);
    this.hatch.fill(0);
    this.cover.fill(0);
    const level = track.level;
    const useLevel = level !== null && (!run.hasAll(track) || to - from > 4 * columns) &&
      (level.to - level.from) / level.bins[0].size <= perPixel * 2.01 && look.matches === null;
    const useBins = level !== null && (useLevel || (!run.hasAll(track) && to === from));
    if (useBins) this.columnsOfLevel(track, left, t0, perPixel, look);
    const shown = useLevel ? this.outside(run, track, from, to, level!.from, level!.to) : [[from, to]];
    for (const [a, b] of shown) this.columnsOfSlices(run, a, b, useBins ? -1 : lane, left, t0, perPixel, look, theme);
    this.blit(left, top, height, look, theme);
  }

  // Slices that a level does not have, because they lie outside its time.
  private outside(run: Run, track: Track, from: number, to: number, t0: number, t1: number): number[][] {
    const [a] = run.between(track, t0, t1);
    const ranges = [[from, Math.min(a, to)]];
    let low = from, high = to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (run.start[middle] < t1) low = middle + 1; else high = middle;
    }
    ranges.push([Math.max(low, Math.min(a, to)), to]);
    return ranges;
  }

  private columnsOfLevel(track: Track, left: number, t0: number, perPixel: number, look: Look): void {
    const level = track.level!;
    const span = level.to - level.from;
    let bins = level.bins[0];
    for (const coarser of level.bins) if (span / coarser.size <= perPixel * 1.01) bins = coarser;
    const binPs = span / bins.size;
    const x0 = Math.max(left, left + Math.floor((level.from - t0) / perPixel));
    const x1 = Math.min(this.width, left + Math.ceil((level.to - t0) / perPixel));
    for (let x = x0; x < x1; ++x) {
      const low = Math.max(0, Math.floor((t0 + (x - left) * perPixel - level.from) / binPs));
      const high = Math.min(bins.size, Math.max(low + 1, Math.ceil((t0 + (x + 1 - left) * perPixel - level.from) / binPs)));
      let busy = 0, wait = 0, best = noKind, most = -1;
      for (let bin = low; bin < high; ++bin) {
        busy += bins.busy[bin];
        wait += bins.wait[bin];
        if (bins.kind[bin] !== noKind && bins.busy[bin] > most) { most = bins.busy[bin]; best = bins.kind[bin]; }
      }
      const n = Math.max(high - low, 1) * 255;
      if (best !== noKind && look.hidden[best] === 0) {
        this.cover[x] = Math.max(busy / n, 0.02);
        this.coverKind[x] = best;
      } else if (wait / n > 0.02 && look.hidden[look.hidden.length - 1] === 0) {
        this.hatch[x] = 1;
      }
    }
  }

  private columnsOfSlices(run: Run, from: number, to: number, lane: number, left: number, t0: number,
    perPixel: number, look: Look, theme: Theme): void {
    const { start, length, kind, isWait } = run;
    const { width, solid, cover, coverKind, hatch } = this;
    const back = pixel(theme.back);
    const maxX = width - left;
    for (let i = from; i < to; ++i) {
      if (lane >= 0 && run.lane[i] !== lane) continue;
      const k = kind[i];
      if (look.hidden[k] !== 0) continue;
      const a = (start[i] - t0) / perPixel;
      const b = a + length[i] / perPixel;
      if (b < 0 || a >= maxX) continue;
      const faint = (look.kindMatches !== null && look.kindMatches[k] === 0) ||
        (look.matches !== null && !look.matches(i));
      if (b - a < 1.5) {
        const x = left + Math.max(0, Math.floor(a));
        if (isWait[k] !== 0) { if (solid[x] === 0) hatch[x] = 1; continue; }
        if (faint) { if (cover[x] === 0) { cover[x] = 0.12; coverKind[x] = k; } continue; }
        cover[x] = Math.min(1, Math.max(cover[x] + (b - a), 0.2));
        coverKind[x] = k;
        continue;
      }
      const x0 = left + Math.max(0, Math.round(a));
      const x1 = Math.min(width, left + Math.max(Math.round(b), Math.round(a) + 1));
      if (isWait[k] !== 0) {
        for (let x = x0; x < x1; ++x) if (solid[x] === 0) hatch[x] = 1;
        continue;
      }
      const color = faint ? blend(look.rgb[k], theme.back, 0.8) : look.colors[k];
      for (let x = x0; x < x1; ++x) solid[x] = color;
      if (x1 - x0 > 3 && a >= 0) solid[x0] = back; // neighbours stay apart
    }
  }

  private blit(left: number, top: number, height: number, look: Look, theme: Theme): void {
    const { width, pixels, solid, cover, coverKind, hatch } = this;
    const wait = pixel(theme.wait), waitLine = pixel(theme.waitLine);
    const y0 = Math.max(0, Math.round(top)), y1 = Math.min(this.height, Math.round(top + height));
    for (let x = left; x < width; ++x) {
      let color = solid[x];
      if (color === 0 && cover[x] > 0) {
        color = blend(theme.back, look.rgb[coverKind[x]], 0.18 + 0.82 * Math.min(1, cover[x]));
      }
      if (color !== 0) {
        for (let y = y0, p = y0 * width + x; y < y1; ++y, p += width) pixels[p] = color;
      } else if (hatch[x] !== 0) {
        for (let y = y0, p = y0 * width + x; y < y1; ++y, p += width) {
          pixels[p] = ((x + y) & 7) < 2 ? waitLine : wait;
        }
      }
    }
  }

  // Values on top of each other, up to `full`.
  areas(values: Float64Array[], colors: number[], full: number, left: number, top: number, height: number): void {
    const columns = this.width - left;
    const bottom = Math.min(this.height, Math.round(top + height));
    for (let x = 0; x < columns; ++x) {
      let below = 0;
      let y1 = bottom;
      for (let i = 0; i < values.length; ++i) {
        if (values[i][x] <= 0) continue;
        below += values[i][x];
        const y0 = Math.max(0, Math.min(y1 - (i === 0 ? 1 : 0), Math.round(top + height - below / full * height)));
        for (let y = y0, p = y0 * this.width + left + x; y < y1; ++y, p += this.width) this.pixels[p] = colors[i];
        y1 = Math.min(y1, y0);
      }
    }
  }

  // How busy the tracks were together, as a skyline. Returns the mean share of each column.
  skyline(run: Run, tracks: Track[], left: number, top: number, height: number, t0: number,
    perPixel: number, color: Rgb, theme: Theme, hidden: Uint8Array): Float32Array {
    const columns = this.width - left;
    const share = busyShare(run, tracks, columns, t0, perPixel, hidden);
    const area = pixel(mix(theme.back, color, theme.dark ? 0.72 : 0.78));
    const y1 = Math.min(this.height, Math.round(top + height));
    for (let x = 0; x < columns; ++x) {
      const size = share[x] * height;
      if (size <= 0) continue;
      const y0 = Math.round(top + height - Math.max(size, 1));
      for (let y = Math.max(0, y0); y < y1; ++y) this.pixels[y * this.width + left + x] = area;
    }
    return share;
  }
}

// The mean share of busy time of the tracks in each of `columns` parts of the time from t0 on.
export function busyShare(run: Run, tracks: Track[], columns: number, t0: number, perPixel: number,
  hidden: Uint8Array | null = null): Float32Array {
  const sum = new Float32Array(columns);
  const t1 = t0 + columns * perPixel;
  for (const track of tracks) {
    const [from, to] = run.between(track, t0, t1);
    const level = track.level;
    const coarse = level !== null && (level.to - level.from) / level.bins[0].size <= perPixel * 2.01 &&
      (to - from > 2 * columns || !run.hasAll(track));
    if (!coarse) {
      addSlices(run, from, to, sum, columns, t0, perPixel, t0, t1, hidden);
      continue;
    }
    addLevel(track, sum, columns, t0, perPixel);
    for (const [low, high] of [[t0, Math.min(t1, level!.from)], [Math.max(t0, level!.to), t1]]) {
      if (high <= low) continue;
      const [a, b] = run.between(track, low, high);
      addSlices(run, a, b, sum, columns, t0, perPixel, low, high, hidden);
    }
  }
  const n = Math.max(tracks.length, 1);
  for (let x = 0; x < columns; ++x) sum[x] = Math.min(1, sum[x] / n);
  return sum;
}

function addSlices(run: Run, from: number, to: number, sum: Float32Array, columns: number, t0: number,
  perPixel: number, low: number, high: number, hidden: Uint8Array | null): void {
  let covered = -Infinity;
  for (let i = from; i < to; ++i) {
    const kind = run.kind[i];
    if (run.isWait[kind] !== 0 || (hidden !== null && hidden[kind] !== 0)) continue;
    const end = run.start[i] + run.length[i];
    const a = Math.max(run.start[i], covered, low), b = Math.min(end, high);
    covered = Math.max(covered, end);
    if (b > a) addTime(sum, columns, (a - t0) / perPixel, (b - t0) / perPixel, 1);
  }
}

// Adds `rate` to the columns from a to b, to those at the ends the share that lies inside.
export function addTime(sum: Float32Array | Float64Array, columns: number, a: number, b: number, rate: number): void {
  const x0 = Math.max(0, Math.floor(a)), x1 = Math.min(columns - 1, Math.floor(b));
  if (x0 === x1) { sum[x0] += (b - a) * rate; return; }
  for (let x = x0; x <= x1; ++x) sum[x] += (Math.min(b, x + 1) - Math.max(a, x)) * rate;
}

function addLevel(track: Track, sum: Float32Array, columns: number, t0: number, perPixel: number): void {
  const level = track.level!;
  const span = level.to - level.from;
  let bins = level.bins[0];
  for (const coarser of level.bins) if (span / coarser.size <= perPixel * 1.01) bins = coarser;
  const binPs = span / bins.size;
  for (let x = 0; x < columns; ++x) {
    const a = (t0 + x * perPixel - level.from) / binPs, b = a + perPixel / binPs;
    const low = Math.max(0, Math.floor(a)), high = Math.min(bins.size, Math.max(low + 1, Math.ceil(b)));
    let busy = 0;
    for (let bin = low; bin < high; ++bin) busy += bins.busy[bin];
    if (high > low) sum[x] += busy / (high - low) / 255;
  }
}
