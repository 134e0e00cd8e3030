// SPDX-License-Identifier: Apache-2.0
// Figures of a range of time. A slice counts with the part that lies inside, and has moved that
// share of its bytes; time that several slices of one unit share counts once.

import type { Run, Track } from "./run";

export interface UnitStats { track: Track; busy: number; bytes: number; slices: number; waits: Map<string, number> }
export interface GroupStats {
  name: string; units: number; busy: number; least: number; most: number; leastUnit: string; mostUnit: string;
  bytes: number; slices: number;
}
export interface RangeStats {
  from: number; to: number;
  groups: GroupStats[];
  names: { name: string; category: string; time: number; slices: number; bytes: number }[];
  waits: { name: string; time: number }[];
  causes: { kind: string; time: number }[];
  slices: number;
}

// Union of the busy time of one track, and what it moved.
export function unitStats(run: Run, track: Track, t0: number, t1: number): UnitStats {
  const [from, to] = run.between(track, t0, t1);
  const out: UnitStats = { track, busy: 0, bytes: 0, slices: 0, waits: new Map() };
  let covered = -Infinity;
  for (let i = from; i < to; ++i) {
    const start = run.start[i], end = start + run.length[i];
    const a = Math.max(start, t0), b = Math.min(end, t1);
    if (b < a || (b === a && run.length[i] > 0)) continue;
    if (run.isWait[run.kind[i]] !== 0) {
      const name = run.kindOf(i).name;
      out.waits.set(name, (out.waits.get(name) ?? 0) + b - a);
      continue;
    }
    out.slices += run.stands[i];
    out.bytes += run.length[i] > 0 ? run.bytes[i] * ((b - a) / run.length[i]) : run.bytes[i];
    const fresh = Math.max(a, covered);
    if (b > fresh) out.busy += b - fresh;
    covered = Math.max(covered, b);
  }
  return out;
}

export function rangeStats(run: Run, t0: number, t1: number, path: { kind: string; start: number; end: number }[] | null): RangeStats {
  const groups = new Map<string, GroupStats>();
  const names = new Map<number, { time: number; slices: number; bytes: number }>();
  const waits = new Map<string, number>();
  let slices = 0;
  for (const track of run.tracks) {
    if (track.slices === 0) continue;
    const stats = unitStats(run, track, t0, t1);
    for (const [name, time] of stats.waits) waits.set(name, (waits.get(name) ?? 0) + time);
    slices += stats.slices;
    let group = groups.get(track.unit);
    if (group === undefined) {
      groups.set(track.unit, group = {
        name: track.unit, units: 0, busy: 0, least: Infinity, most: -1, leastUnit: "", mostUnit: "", bytes: 0, slices: 0,
      });
    }
    group.units += 1;
    group.busy += stats.busy;
    group.bytes += stats.bytes;
    group.slices += stats.slices;
    if (stats.busy < group.least) { group.least = stats.busy; group.leastUnit = track.path; }
    if (stats.busy > group.most) { group.most = stats.busy; group.mostUnit = track.path; }
    const [from, to] = run.between(track, t0, t1);
    for (let i = from; i < to; ++i) {
      const a = Math.max(run.start[i], t0), b = Math.min(run.endOf(i), t1);
      if (b < a || run.isWait[run.kind[i]] !== 0) continue;
      let entry = names.get(run.kind[i]);
      if (entry === undefined) names.set(run.kind[i], entry = { time: 0, slices: 0, bytes: 0 });
      entry.time += b - a;
      entry.slices += run.stands[i];
      entry.bytes += run.length[i] > 0 ? run.bytes[i] * ((b - a) / run.length[i]) : run.bytes[i];
    }
  }
  const causes = new Map<string, number>();
  for (const segment of path ?? []) {
    const inside = Math.min(segment.end, t1) - Math.max(segment.start, t0);
    if (inside > 0) causes.set(segment.kind, (causes.get(segment.kind) ?? 0) + inside);
  }
  return {
    from: t0, to: t1, slices,
    groups: [...groups.values()].filter((g) => g.slices > 0).sort((a, b) => b.busy / b.units - a.busy / a.units),
    names: [...names].map(([kind, entry]) => ({ ...run.kinds[kind], ...entry })).sort((a, b) => b.time - a.time),
    waits: [...waits].map(([name, time]) => ({ name, time })).sort((a, b) => b.time - a.time),
    causes: [...causes].map(([kind, time]) => ({ kind, time })).sort((a, b) => b.time - a.time),
  };
}
