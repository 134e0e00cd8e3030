// SPDX-License-Identifier: Apache-2.0
// What stands below the timeline: plots and tables.

import { app, pause } from "./app";
import { coresCard, kernelBytes, lxCard, roofline } from "./charts";
import { byId, el } from "./dom";
import { bytes, change, count, percent, si, time } from "./format";
import { lxMapCard } from "./lx_map";
import { longest } from "./names";
import { pairsOf, type Pair } from "./pairs";
import type { Json, Kernel, Run } from "./run";
import { choosePath, facts } from "./side";
import { table } from "./table";

function goTo(run: Run, kernel: Kernel): void {
  const margin = (kernel.end - kernel.start) * 0.03;
  app.timeline.show(kernel.start - margin, kernel.end + margin);
  if (run.paths.some((p) => p.kernel === kernel.number)) choosePath(run, kernel.number);
  byId("timeline-section").scrollIntoView({ block: "start" });
}

// Both kernels of a pair, from the start of the earlier to the end of the later.
function goToPair(a: Run, b: Run, pair: Pair): void {
  const found = [[a, pair.a], [b, pair.b]].filter((one): one is [Run, Kernel] => one[1] !== null);
  for (const [run, kernel] of found) if (run.paths.some((p) => p.kernel === kernel.number)) choosePath(run, kernel.number);
  const from = Math.min(...found.map(([, kernel]) => kernel.start)), to = Math.max(...found.map(([, kernel]) => kernel.end));
  app.timeline.show(from - (to - from) * 0.03, to + (to - from) * 0.03);
  byId("timeline-section").scrollIntoView({ block: "start" });
}

function pairTable(a: Run, b: Run): HTMLElement {
  const length = (kernel: Kernel | null): number | null => (kernel === null ? null : kernel.end - kernel.start);
  const cause = (run: Run, kernel: Kernel | null): string => {
    const share = kernel === null ? undefined : run.paths.find((p) => p.kernel === kernel.number)?.shares[0];
    return share === undefined || kernel === null ? "" : `${share.kind} ${percent(share.time_ps / Math.max(kernel.end - kernel.start, 1))}`;
  };
  const difference = (pair: Pair): number => (length(pair.b) ?? 0) - (length(pair.a) ?? 0);
  const shown = (pair: Pair): HTMLElement => {
    const ps = difference(pair);
    const text = pair.a === null ? "new" : pair.b === null ? "gone" : `${ps > 0 ? "+" : ""}${time(ps)} (${change(length(pair.a)!, length(pair.b)!)})`;
    return el("span", { class: ps === 0 ? "dim" : ps < 0 ? "good" : "bad" }, text);
  };
  const pairs = table<Pair>({
    id: "kernel-pairs", caption: "Kernels of A and B in pairs", rows: pairsOf(a, b), limit: 12,
    pick: (pair) => goToPair(a, b, pair), label: (pair) => `Show ${(pair.a ?? pair.b)!.label} and its partner in the timeline`,
    columns: [
      { name: "kernel of A", value: (p) => p.a?.label ?? (p.b === null ? "" : "-") },
      { name: "kernel of B", value: (p) => p.b?.label ?? "-" },
      { name: "A ns", value: (p) => (p.a === null ? null : length(p.a)! / 1e3), text: (p) => (p.a === null ? "-" : time(length(p.a)!)) },
      { name: "B ns", value: (p) => (p.b === null ? null : length(p.b)! / 1e3), text: (p) => (p.b === null ? "-" : time(length(p.b)!)) },
      { name: "change ns", value: (p) => difference(p) / 1e3, text: shown },
      { name: "largest cause in A", value: (p) => cause(a, p.a) },
      { name: "largest cause in B", value: (p) => cause(b, p.b) },
    ],
  });
  pairs.classList.add("wide");
  return pairs;
}

interface Operation { run: Run; kind: number; name: string; category: string; n: number; total: number; least: number; most: number; bytes: number; firstSlice: number }

async function operationsOf(run: Run): Promise<Operation[]> {
  const list: Operation[] = run.kinds.map((kind, i) => ({
    run, kind: i, name: kind.name, category: kind.category, n: 0, total: 0, least: Infinity, most: 0, bytes: 0, firstSlice: -1,
  }));
  for (let i = 0; i < run.count; ++i) {
    const op = list[run.kind[i]];
    const n = run.stands[i];
    op.n += n;
    op.total += run.length[i];
    op.least = Math.min(op.least, run.length[i] / n);
    op.most = Math.max(op.most, run.length[i]);
    op.bytes += run.bytes[i];
    if (op.firstSlice < 0) op.firstSlice = i;
    if (i % 200_000 === 199_999) await pause();
  }
  return list.filter((op) => op.n > 0);
}

const shortTime = (name: string, f: (row: Operation) => number) => ({
  name, value: (row: Operation) => f(row) / 1e3, text: (row: Operation) => time(f(row)),
});

export async function showSections(): Promise<void> {
  const box = byId("sections");
  box.replaceChildren();
  const several = app.runs.length > 1;
  const roof = roofline(app.runs, goTo);
  if (roof !== null) box.append(roof);
  await pause();
  for (const run of app.runs) {
    const cores = coresCard(run, longest(run), several);
    if (cores !== null) box.append(cores);
    await pause();
  }
  for (const run of app.runs) {
    const lx = lxCard(run, several);
    if (lx !== null) box.append(lx);
    await pause();
    box.append(...lxMapCard(run, several));
    await pause();
  }
  interface KernelRow { run: Run; kernel: Kernel; bytes: number; cause: string; share: number }
  const kernels: KernelRow[] = [];
  for (const run of app.runs) {
    for (const kernel of run.kernels) {
      const path = run.paths.find((p) => p.kernel === kernel.number);
      kernels.push({
        run, kernel, bytes: kernelBytes(run, kernel), cause: path?.shares[0]?.kind ?? "",
        share: path === undefined || path.shares.length === 0 ? 0 : path.shares[0].time_ps / (kernel.end - kernel.start),
      });
    }
  }
  const withRun = <T extends { run: Run }>(columns: { name: string; value: (row: T) => number | string | null; text?: (row: T) => string | Node }[]) =>
    (several ? [columns[0], { name: "run", value: (row: T) => row.run.letter }, ...columns.slice(1)] : columns);
  if (several) box.append(pairTable(app.runs[0], app.runs[1]));
  if (kernels.length > 0) {
    box.append(table<KernelRow>({
      id: "kernels", caption: "Kernels", rows: kernels, pick: (row) => goTo(row.run, row.kernel), label: (row) => `Show ${row.kernel.label} in the timeline`,
      columns: withRun<KernelRow>([
        { name: "kernel", value: (r) => r.kernel.label },
        { name: "start ns", value: (r) => r.kernel.start / 1e3, text: (r) => time(r.kernel.start) },
        { name: "time ns", value: (r) => (r.kernel.end - r.kernel.start) / 1e3, text: (r) => time(r.kernel.end - r.kernel.start) },
        { name: "MAC/s", value: (r) => (r.kernel.macs === 0 ? null : Math.round(r.kernel.macs / (r.kernel.end - r.kernel.start) * 1e12)), text: (r) => (r.kernel.macs === 0 ? "-" : `${si(r.kernel.macs / (r.kernel.end - r.kernel.start) * 1e12)}`) },
        { name: "memory bytes", value: (r) => r.bytes, text: (r) => bytes(r.bytes) },
        { name: "GB/s", value: (r) => Number((r.bytes / (r.kernel.end - r.kernel.start) * 1e3).toFixed(3)) },
        { name: "largest cause", value: (r) => r.cause, text: (r) => (r.cause === "" ? "" : `${r.cause} ${percent(r.share)}`) },
      ]),
    }));
  }
  const operations = (await Promise.all(app.runs.map(operationsOf))).flat();
  const operationColumns = withRun<Operation>([
    { name: "name", value: (r) => r.name },
    { name: "count", value: (r) => r.n, text: (r) => count(r.n) },
    shortTime("total ns", (r) => r.total), shortTime("min ns", (r) => r.least), shortTime("mean ns", (r) => r.total / r.n), shortTime("max ns", (r) => r.most),
    { name: "bytes", value: (r) => r.bytes, text: (r) => bytes(r.bytes) },
  ]);
  const show = (row: Operation): void => {
    app.timeline.select({ run: row.run, slice: row.firstSlice }, true);
    app.timeline.zoomToSlice();
    byId("timeline-section").scrollIntoView({ block: "start" });
  };
  const total = several ? 3 : 2;
  const steps = operations.filter((op) => op.category === "step");
  if (steps.length > 0) box.append(table({ id: "steps", caption: "Steps of the kernels", rows: steps, columns: operationColumns, sort: total, pick: show }));
  const others = operations.filter((op) => op.category !== "step");
  box.append(table<Operation>({
    id: "operations", caption: "Operations and instructions", rows: others, sort: total + 1, pick: show,
    columns: [operationColumns[0], { name: "category", value: (r) => r.category }, ...operationColumns.slice(1)],
  }));
  interface UnitRow { run: Run; group: Json }
  const units: UnitRow[] = app.runs.flatMap((run) => (run.head.summary.groups as Json[]).map((group) => ({ run, group })));
  const meter = (share: number): HTMLElement => el("span", {}, el("span", { class: "meter" }, el("i", { style: `width:${Math.min(100, share * 100)}%` })), percent(share));
  box.append(table<UnitRow>({
    id: "units", caption: "Units", rows: units, sort: several ? 5 : 4,
    columns: withRun<UnitRow>([
      { name: "unit", value: (r) => r.group.name },
      { name: "n", value: (r) => r.group.units },
      { name: "busy while active", value: (r) => r.group.utilization_active, text: (r) => meter(r.group.utilization_active) },
      { name: "of run", value: (r) => r.group.utilization, text: (r) => percent(r.group.utilization) },
      { name: "busy ns (mean)", value: (r) => r.group.busy_mean_ns, text: (r) => time(r.group.busy_mean_ns * 1e3) },
      { name: "min ns", value: (r) => r.group.busy_min_ns, text: (r) => time(r.group.busy_min_ns * 1e3) },
      { name: "max ns", value: (r) => r.group.busy_max_ns, text: (r) => time(r.group.busy_max_ns * 1e3) },
      { name: "slices", value: (r) => r.group.slices, text: (r) => count(r.group.slices) },
      { name: "bytes", value: (r) => r.group.bytes, text: (r) => bytes(r.group.bytes) },
      { name: "GB/s", value: (r) => Number(r.group.gb_per_s.toFixed(3)) },
    ]),
  }));
  for (const run of app.runs) {
    const lines: [string, string][] = [];
    const metadata = run.head.summary.metadata ?? {};
    for (const [key, value] of Object.entries(metadata)) if (value !== null && typeof value !== "object") lines.push([key, String(value)]);
    if (metadata.build !== undefined) for (const [key, value] of Object.entries(metadata.build)) lines.push([`build ${key}`, String(value)]);
    const stream = (run.head.summary.streams as Json[]).map((s): [string, string] => [s.name, `busy ${time(s.busy_ns * 1e3)}, gaps ${time(s.gap_total_ns * 1e3)}, largest ${time(s.gap_largest_ns * 1e3)}`]);
    const details = el("details", {}, el("summary", {}, "Configuration"), el("pre", { style: "overflow:auto;max-height:24rem;font-size:.85rem" }, JSON.stringify(metadata.config ?? metadata, null, 2)));
    box.append(el("section", { class: "card", id: several ? `run-${run.letter}` : "run", "aria-label": "Run" },
      el("div", { class: "card-head" }, el("h3", {}, several ? `${run.letter}: run` : "Run")), facts([...lines, ...stream, ["digest", run.head.summary.digest]]), details));
  }
  const nav = byId("nav");
  nav.replaceChildren();
  const sections: [string, string][] = [["timeline-section", "Timeline"], ["roofline", "Roofline"], [several ? "cores-A" : "cores", "Cores"],
    [several ? "lx-A" : "lx", "LX"], [several ? "lx-map-A" : "lx-map", "LX map"], ["kernel-pairs", "Pairs"], ["kernels", "Kernels"], ["steps", "Steps"], ["operations", "Operations"], ["units", "Units"], [several ? "run-A" : "run", "Run"]];
  if (several) sections.unshift(["changes", "Changes"]);
  for (const [id, name] of sections) if (document.getElementById(id) !== null) nav.append(el("a", { href: `#${id}` }, name));
}
