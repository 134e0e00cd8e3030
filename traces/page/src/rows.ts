// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline, from top to bottom: counters, then units in groups that open and close.

import { isUnitOfCore, type Counter } from "./counters";
import type { Run, Track } from "./run";

export interface Row {
  id: string;
  label: string;
  note: string; // smaller, behind the label
  depth: number;
  type: "run" | "path" | "counter" | "queue" | "group" | "track";
  run: Run;
  tracks: Track[];       // of a group, or the one
  counter: Counter | null;
  open: boolean | null;  // null: nothing to open
  height: number;
  top: number;
}

// Heights before scaling: the overview, the axis, a lane of slices.
export const kMini = 26, kAxis = 24, kLane = 15;

export type Grouping = "unit" | "core";
export interface RowOptions {
  grouping: Grouping;
  open: Map<string, boolean>; // what the reader opened or closed
  scale: number;
  stretch: number; // of counters and closed groups
  unitFilter: string;
  showCategory: (category: string) => boolean;
  counters: (run: Run) => Counter[];
}

export const unitsOfCore = ["load", "pt", "vector", "store", "ring"];
const unitNames: Record<string, string> = {
  load: "Load units", pt: "PT arrays", vector: "Vector units", store: "Store units", ring: "Ring units",
};

interface Group { id: string; label: string; tracks: Track[]; openAtFirst: boolean; children: Group[] | null }

function groupsOf(run: Run, grouping: Grouping): Group[] {
  const used = run.tracks.filter((t) => t.slices > 0);
  const groups: Group[] = [];
  const add = (id: string, label: string, tracks: Track[], openAtFirst = false, children: Group[] | null = null): void => {
    if (tracks.length > 0) groups.push({ id, label, tracks, openAtFirst, children });
  };
  const cores = used.filter((t) => isUnitOfCore(t));
  const known = new Set<string>();
  for (const t of used) {
    if (isUnitOfCore(t) || known.has(t.process)) continue;
    known.add(t.process);
    const tracks = used.filter((other) => other.process === t.process);
    if (t.process === "ring") {
      for (const [direction, name] of [["cw", "Ring links clockwise"], ["ccw", "Ring links counter-clockwise"]]) {
        add(`ring-${direction}`, name, tracks.filter((x) => x.name.startsWith(`link ${direction} `)));
      }
      add("ring", "Ring, other", tracks.filter((x) => !x.name.startsWith("link ")));
    } else if (t.process === "memory") {
      add("memory", "Memory channels", tracks);
    } else {
      const names: Record<string, string> = { host: "Host", card: "Card", pcie: "PCIe" };
      add(t.process, names[t.process] ?? t.process, tracks, t.process === "host" || t.process === "card");
    }
  }
  if (grouping === "unit") {
    const left = new Set(cores);
    for (const unit of unitsOfCore) {
      const tracks = cores.filter((t) => t.name === unit);
      tracks.forEach((t) => left.delete(t));
      add(`unit-${unit}`, unitNames[unit], tracks);
    }
    add("unit-other", "Other units", [...left]);
  } else {
    for (const process of new Set(cores.map((t) => t.process))) {
      const tracks = cores.filter((t) => t.process === process);
      add(process, process.replace("core", "Core"), tracks);
    }
  }
  return groups;
}

export function makeRows(runs: Run[], options: RowOptions): Row[] {
  const rows: Row[] = [];
  const s = options.scale;
  const filter = options.unitFilter.trim().toLowerCase();
  const push = (row: Omit<Row, "top">): void => { rows.push({ ...row, top: 0 }); };
  const isOpen = (id: string, at_first: boolean): boolean => options.open.get(id) ?? at_first;
  const several = runs.length > 1;
  const badge = (run: Run): string => (several ? `${run.letter}  ` : "");

  const counterRows = (run: Run): void => {
    const id = `${run.letter}:counters`;
    const counters = options.counters(run);
    if (counters.length === 0 || filter !== "") return;
    const open = isOpen(id, true);
    push({ id, label: `${badge(run)}Counters`, note: "", depth: 0, type: "run", run, tracks: [], counter: null, open, height: 20 * s });
    if (!open) return;
    for (const counter of counters) {
      if (several && !["memory", "macs", "pt", "lx"].includes(counter.id)) continue;
      push({ id: `${id}:${counter.id}`, label: counter.name, note: "", depth: 1, type: "counter", run, tracks: [], counter, open: null, height: 38 * s * options.stretch });
    }
    if (!several) {
      push({ id: `${id}:queue`, label: "Queue depth", note: "", depth: 1, type: "queue", run, tracks: [], counter: null, open: null, height: 26 * s });
    }
  };
  const pathRow = (run: Run): void => {
    if (run.paths.length === 0 || filter !== "") return;
    push({ id: `${run.letter}:path`, label: `${badge(run)}Critical path`, note: "", depth: 0, type: "path", run, tracks: [], counter: null, open: null, height: 22 * s });
  };
  const groupRows = (run: Run, group: Group): void => {
    let tracks = group.tracks.filter((t) => options.showCategory(categoryOf(t)));
    const label = group.label;
    if (filter !== "" && !label.toLowerCase().includes(filter)) tracks = tracks.filter((t) => t.path.toLowerCase().includes(filter));
    if (tracks.length === 0) return;
    const id = `${run.letter}:${group.id}`;
    const open = isOpen(id, group.openAtFirst && !several);
    push({
      id, label: `${badge(run)}${label}`, note: tracks.length > 1 ? `${tracks.length}` : "", depth: 0, type: "group", run, tracks,
      counter: null, open, height: (open ? 20 : 30 * options.stretch) * s,
    });
    if (!open) return;
    for (const t of tracks) {
      push({
        id: `${run.letter}:${t.path}`, label: isUnitOfCore(t) && options.grouping === "unit" ? t.process : t.name, note: "", depth: 1,
        type: "track", run, tracks: [t], counter: null, open: null, height: (t.lanes * kLane + 3) * s,
      });
    }
  };

  for (const run of runs) {
    pathRow(run);
    counterRows(run);
  }
  // Groups of two runs stand in pairs.
  const all = runs.map((run) => groupsOf(run, options.grouping));
  const ids: string[] = [];
  for (const groups of all) for (const g of groups) if (!ids.includes(g.id)) ids.push(g.id);
  for (const id of ids) {
    runs.forEach((run, i) => {
      const group = all[i].find((g) => g.id === id);
      if (group !== undefined) groupRows(run, group);
    });
  }
  let top = 0;
  for (const row of rows) {
    row.height = Math.floor(row.height);
    row.top = top;
    top += row.height;
  }
  return rows;
}

export const isElastic = (row: Row): boolean => row.type === "counter" || (row.type === "group" && row.open === false);

export function categoryOf(track: Track): string {
  if (isUnitOfCore(track) || track.process === "service core") return "core";
  if (track.process === "card") return track.name.startsWith("stream ") ? "control" : "dma";
  return track.process;
}
