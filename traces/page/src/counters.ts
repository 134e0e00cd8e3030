// SPDX-License-Identifier: Apache-2.0
// Counters over time, derived from what slices moved and how long they took: a slice moves its
// bytes at a constant rate.

import { unitColor, type Rgb, type Theme } from "./colors";
import { addTime } from "./raster";
import type { Json, Run, Track } from "./run";

const kBins = 8192;

export interface Series {
  name: string;
  unit: string; // whose colour it has
  step: number; // variation of the colour
  tracks: Track[];
  weight: (run: Run, slice: number) => number; // what the slice adds in all, e.g. its bytes
  perTime?: boolean; // the weight is of each ps, not of the whole slice
  inOrder?: boolean; // the unit does one thing after the other: time shared with the slice before is that one's
  bins: Float64Array | null; // of the launches: weight per bin
}
export interface Counter {
  id: string; name: string; what: string;
  series: Series[]; // stacked
  scale: number; // of weight per ps, to `format`
  format: (value: number) => string;
  peak: number; // 0: not known
  peakName: string;
}

const byBytes = (run: Run, i: number): number => (run.isWait[run.kind[i]] !== 0 ? 0 : run.bytes[i]);
const byTime = (run: Run, i: number): number => (run.isWait[run.kind[i]] !== 0 ? 0 : run.length[i]);

export interface Peaks {
  macs: number; memory: number; ring: number; lx: number; lxCore: number; pcie: number; // per s
  cores: number; memoryText: string;
}

// Partial sums have links of their own, which are narrower and which most programs leave idle.
export function isDataLink(track: Track): boolean {
  return track.process === "ring" && track.name.startsWith("link") && !track.name.startsWith("link psum");
}

// Peaks from the configuration that the run was made with; null if there is none.
export function peaksOf(run: Run): Peaks | null {
  const card: Json = run.card;
  if (card === null || typeof card !== "object" || card.core === undefined) return null;
  const report = run.report?.roofline?.launches?.peak;
  const mhz = card.clock?.core_mhz ?? 0;
  const cores = card.cores ?? 0;
  const memory = (card.memory?.channels ?? 0) * (card.memory?.channel_bits ?? 0) / 8 * (card.memory?.transfer_mts ?? 0) * 1e6;
  const links = run.tracks.filter(isDataLink).length;
  const lxCore = (card.core.lx_port_bytes_per_cycle ?? 0) * mhz * 1e6;
  const ring = links * (card.ring?.bytes_per_cycle ?? 0) * (card.ring?.ring_mhz ?? card.clock?.ring_mhz ?? 0) * 1e6 *
    (card.ring?.link_percent ?? 100) / 100;
  return {
    macs: report?.macs_per_s ?? cores * (card.core.corelets ?? 0) * (card.core.pt_macs_per_cycle ?? 0) * mhz * 1e6,
    memory: report?.memory_bytes_per_s ?? memory, ring, lx: lxCore * cores, lxCore,
    pcie: report?.pcie_bytes_per_s ?? (card.pcie?.lanes ?? 0) * (card.pcie?.rate_mts ?? 0) * 1e6 / 8 * 128 / 130,
    cores, memoryText: "",
  };
}

export function isUnitOfCore(track: Track): boolean { return /^core \d+$/.test(track.process); }

const gbps = (value: number): string => `${(value / 1e9).toFixed(1)} GB/s`;

export function countersOf(run: Run): Counter[] {
  const peaks = peaksOf(run);
  const of = (test: (t: Track) => boolean): Track[] => run.tracks.filter((t) => t.slices > 0 && test(t));
  const series = (name: string, unit: string, tracks: Track[], weight = byBytes, step = 0): Series =>
    ({ name, unit, step, tracks, weight, bins: null });
  const counters: Counter[] = [];
  const add = (counter: Counter): void => {
    if (counter.series.some((s) => s.tracks.length > 0)) counters.push(counter);
  };
  const channels = of((t) => t.process === "memory");
  const written = (run: Run, i: number): number => (run.kindOf(i).name === "write" ? byBytes(run, i) : 0);
  const read = (run: Run, i: number): number => (run.kindOf(i).name === "write" ? 0 : byBytes(run, i));
  add({
    id: "memory", name: "Device memory",
    what: "Bytes on the data buses of all channels, check bytes included, by direction.",
    series: [series("read", "memory", channels, read), series("written", "store", channels, written)],
    scale: 1e12, format: gbps, peak: peaks?.memory ?? 0, peakName: "all channels",
  });
  const pts = of((t) => isUnitOfCore(t) && t.name === "pt");
  const rates = macRates(run, pts);
  if (rates !== null) {
    add({
      id: "macs", name: "Multiply-accumulates",
      what: "The MACs of each kernel, spread over the time in which its PT arrays worked.",
      series: [{ ...series("MAC/s", "pt", pts, (r, i) => (byTime(r, i) > 0 ? rates.get(r.flow[i]) ?? 0 : 0)), inOrder: true, perTime: true }],
      scale: 1e12, format: (v) => `${si3(v / 1e12)} TMAC/s`, peak: peaks?.macs ?? 0, peakName: "all PT arrays",
    });
  } else {
    add({
      id: "pt", name: "PT arrays busy", what: "Mean busy share of the PT arrays.",
      series: [series("busy", "pt", pts, byTime)], scale: 1 / Math.max(pts.length, 1),
      format: (v) => `${(v * 100).toFixed(1)} %`, peak: 1, peakName: "always",
    });
  }
  const units = of((t) => isUnitOfCore(t) && t.name !== "ring");
  const cores = new Set(units.map((t) => t.process)).size;
  add({
    id: "lx", name: "LX, a core",
    what: "Bytes that load, store, PT and vector units moved to and from their scratchpad, mean of the cores.",
    series: ["load", "store", "pt", "vector"].map((unit) => ({
      ...series(unit, unit, units.filter((t) => t.name === unit)), inOrder: unit === "pt" || unit === "vector",
    })),
    scale: 1e12 / Math.max(cores, 1), format: gbps, peak: peaks?.lxCore ?? 0, peakName: "LX port",
  });
  for (const direction of ["cw", "ccw"]) {
    const links = of((t) => t.process === "ring" && t.name.startsWith(`link ${direction} `));
    add({
      id: `ring-${direction}`, name: `Ring ${direction === "cw" ? "clockwise" : "counter-clockwise"}`,
      what: "Mean busy share of the links in this direction.",
      series: [series("busy", "ring", links, byTime, direction === "cw" ? 0 : 2)],
      scale: 1 / Math.max(links.length, 1), format: (v) => `${(v * 100).toFixed(1)} %`, peak: 1, peakName: "always",
    });
  }
  const pcie = of((t) => t.process === "pcie");
  add({
    id: "pcie", name: "PCIe", what: "Bytes on the link, each way.",
    series: pcie.map((t, i) => series(t.name, "pcie", [t], byBytes, i * 2)),
    scale: 1e12, format: (v) => (v < 1e8 ? `${(v / 1e6).toFixed(1)} MB/s` : gbps(v)), peak: 0, peakName: "",
  });
  return counters;
}

const si3 = (v: number): string => (v >= 100 ? v.toFixed(0) : v.toFixed(1));

// MACs per ps of a PT array at work, by flow; null if the MACs are not known.
function macRates(run: Run, pts: Track[]): Map<number, number> | null {
  const macs = new Map<number, number>();
  for (const kernel of run.kernels) if (kernel.macs > 0) macs.set(kernel.flow, kernel.macs);
  if (macs.size === 0 || pts.length === 0) return null;
  const busy = new Map<number, number>();
  const rates = new Map<number, number>();
  let seen = 0;
  // Filled in when all slices are there; until then the rate is not known.
  const fill = (): void => {
    if (seen === run.loaded) return;
    seen = run.loaded;
    busy.clear();
    for (const t of pts) {
      let covered = -Infinity;
      for (let i = t.first, end = Math.min(t.first + t.slices, run.loaded); i < end; ++i) {
        if (run.isWait[run.kind[i]] !== 0) continue;
        const end = run.endOf(i);
        const fresh = end - Math.max(run.start[i], covered);
        covered = Math.max(covered, end);
        if (fresh > 0) busy.set(run.flow[i], (busy.get(run.flow[i]) ?? 0) + fresh);
      }
    }
    for (const [flow, value] of macs) rates.set(flow, value / Math.max(busy.get(flow) ?? 0, 1));
  };
  return { get: (flow: number) => { if (run.loaded === run.count) fill(); return rates.get(flow); } } as Map<number, number>;
}

// What lies between low and high is added to the columns, which begin at t0.
function accumulate(run: Run, s: Series, sum: Float64Array, columns: number, t0: number, perColumn: number,
  low: number, high: number): void {
  const t1 = Math.min(t0 + columns * perColumn, high);
  const begin = Math.max(t0, low);
  if (t1 <= begin) return;
  for (const track of s.tracks) {
    const [from, to] = run.between(track, begin, t1);
    let covered = s.inOrder === true && from > track.first ? run.reach[from - 1] : -Infinity;
    for (let i = from; i < to; ++i) {
      const weight = s.weight(run, i);
      if (weight === 0) continue;
      let start = run.start[i], length = run.length[i];
      if (s.inOrder === true) {
        const end = start + length;
        start = Math.min(Math.max(start, covered), end);
        covered = Math.max(covered, end);
        length = end - start;
        if (length === 0) continue;
      }
      const a = Math.max(start, begin), b = Math.min(start + length, t1);
      if (b < a) continue;
      if (length === 0) {
        if (a < t1) sum[Math.min(columns - 1, Math.floor((a - t0) / perColumn))] += weight;
        continue;
      }
      // addTime adds rate x columns; a column is perColumn long.
      const rate = s.perTime === true ? weight : weight / length;
      if (b > a) addTime(sum, columns, (a - t0) / perColumn, (b - t0) / perColumn, rate * perColumn);
    }
  }
}

// Makes the bins of a series over the launches. Some milliseconds a track of ten thousands.
export async function prepare(run: Run, counters: Counter[], pause: () => Promise<void>): Promise<void> {
  for (const counter of counters) {
    for (const s of counter.series) {
      if (s.bins !== null) continue;
      const bins = new Float64Array(kBins);
      const perBin = run.launchEnd / kBins;
      for (const track of s.tracks) {
        accumulate(run, { ...s, tracks: [track] }, bins, kBins, 0, perBin, 0, run.launchEnd);
        if (track.slices > 5000) await pause();
      }
      s.bins = bins;
    }
    await pause();
  }
}

// Values of each series in `columns` parts of the time from t0 on; null until they can be known.
export function valuesOf(run: Run, counter: Counter, columns: number, t0: number, perColumn: number): Float64Array[] | null {
  const binPs = run.launchEnd / kBins;
  const values: Float64Array[] = [];
  for (const s of counter.series) {
    const sum = sumOf(run, s, columns, t0, perColumn, binPs);
    if (sum === null) return null;
    for (let x = 0; x < columns; ++x) sum[x] = sum[x] / perColumn * counter.scale;
    values.push(sum);
  }
  return values;
}

function sumOf(run: Run, s: Series, columns: number, t0: number, perColumn: number, binPs: number): Float64Array | null {
  const sum = new Float64Array(columns);
  const t1 = t0 + columns * perColumn;
  if (s.bins === null) return null;
  if (perColumn < binPs * 2) {
    let slices = 0;
    for (const track of s.tracks) {
      const [from, to] = run.between(track, t0, t1);
      slices += to - from;
    }
    if (slices < 100_000) {
      accumulate(run, s, sum, columns, t0, perColumn, -Infinity, Infinity);
      return sum;
    }
  }
  accumulate(run, s, sum, columns, t0, perColumn, -Infinity, 0);
  accumulate(run, s, sum, columns, t0, perColumn, run.launchEnd, Infinity);
  for (let x = 0; x < columns; ++x) {
    const a = (t0 + x * perColumn) / binPs, b = a + perColumn / binPs;
    const low = Math.max(0, Math.floor(a)), high = Math.min(kBins, Math.ceil(b));
    for (let bin = low; bin < high; ++bin) {
      sum[x] += s.bins[bin] * (Math.min(b, bin + 1) - Math.max(a, bin));
    }
  }
  return sum;
}

export const seriesColor = (s: Series, theme: Theme): Rgb => unitColor(s.unit, theme, s.step);

// Control blocks that the host has begun to queue and that have not ended, as steps.
export function queueDepth(run: Run): { times: number[]; depth: number[] } {
  const begun = new Map<number, number>();
  for (const t of run.tracks) {
    if (t.process !== "host") continue;
    for (let i = t.first; i < Math.min(t.first + t.slices, run.loaded); ++i) {
      const flow = run.flow[i];
      if (flow !== 0 && !(begun.get(flow)! <= run.start[i])) begun.set(flow, run.start[i]);
    }
  }
  const events: [number, number][] = [];
  for (const t of run.tracks) {
    if (t.process !== "card" || !t.name.startsWith("stream ")) continue;
    for (let i = t.first; i < Math.min(t.first + t.slices, run.loaded); ++i) {
      if (run.kindOf(i).category !== "control") continue;
      events.push([Math.min(begun.get(run.flow[i]) ?? run.start[i], run.start[i]), 1], [run.endOf(i), -1]);
    }
  }
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const times: number[] = [], depth: number[] = [];
  let now = 0;
  for (const [time, step] of events) {
    now += step;
    if (times[times.length - 1] === time) { depth[depth.length - 1] = now; continue; }
    times.push(time);
    depth.push(now);
  }
  return { times, depth };
}
