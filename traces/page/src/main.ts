// SPDX-License-Identifier: Apache-2.0
// Puts the page together: reads the runs, shows the timeline as soon as there is an overview, and
// the rest when all slices are there.

import { coresCard, kernelBytes, lxCard, roofline, stragglerOf } from "./charts";
import { causeColor, css, currentTheme, unitColor } from "./colors";
import { changes } from "./compare";
import { peaksOf, prepare } from "./counters";
import { byId, button, el } from "./dom";
import { bytes, count, percent, si, time } from "./format";
import { Run, type Json, type Kernel } from "./run";
import { rangeStats, type RangeStats } from "./stats";
import { table } from "./table";
import { longest, Timeline, type Range, type Selection } from "./timeline";

const pause = (): Promise<void> => new Promise((resolve) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => resolve();
  channel.port2.postMessage(null);
});

let runs: Run[] = [];
let timeline: Timeline;

function describeRun(run: Run): string {
  const s = run.head.summary;
  const parts = [s.metadata?.workload, s.metadata?.card === undefined ? null : `card ${s.metadata.card}`,
    `${count(s.records)} records`, s.dropped > 0 ? `${count(s.dropped)} dropped` : null, `digest ${s.digest}`];
  return parts.filter((p) => typeof p === "string" && p !== "").join("   ");
}

function notes(run: Run): string[] {
  const s = run.head.summary;
  const out: string[] = [];
  if (s.dropped > 0) {
    out.push(`The oldest ${count(s.dropped)} records were dropped: everything here is of the time from ${time(run.begin)} on, where none is missing.`);
  }
  if (s.interrupted) out.push("The run did not end, or has not yet: the file holds what was recorded up to its last block.");
  if (run.head.merged_below_ps > 0) {
    out.push(`The run has more slices than a page holds: neighbours shorter than ${time(run.head.merged_below_ps)} are drawn as one.`);
  }
  return out;
}

// --- main figures ------------------------------------------------------------------------------------

function figure(value: string, what: string, more = ""): HTMLElement {
  return el("div", { class: "figure" }, el("span", {}, what), el("b", { title: value }, value), more === "" ? null : el("small", { title: more }, more));
}

function showFigures(): void {
  const box = byId("figures");
  box.replaceChildren();
  for (const run of runs) {
    const letter = runs.length > 1 ? `${run.letter}: ` : "";
    const kernels = run.kernels.filter((k) => !k.name.endsWith(" correction"));
    const span = kernels.reduce((sum, k) => sum + k.end - k.start, 0);
    const macs = kernels.reduce((sum, k) => sum + k.macs, 0);
    const peaks = peaksOf(run);
    box.append(figure(time(run.kernels.length > 0 ? run.launchEnd : run.end - run.begin), `${letter}first to last launch`,
      run.begin < 0 ? `${time(-run.begin)} of set-up before it` : ""));
    if (kernels.length > 0) {
      box.append(figure(time(span), `${letter}${kernels.length === 1 ? "in 1 kernel" : `in ${count(kernels.length)} kernels`}`,
        run.launchEnd > 0 ? `${percent(Math.min(1, span / run.launchEnd))} of the launches` : ""));
    }
    if (macs > 0 && peaks !== null) {
      const rate = macs / span * 1e12;
      box.append(figure(`${si(rate)}MAC/s`, `${letter}while kernels run`, `${percent(rate / peaks.macs)} of ${si(peaks.macs)}MAC/s`));
    }
    const memory = (run.head.summary.groups as Json[]).find((g) => g.name.startsWith("memory/"));
    const main = longest(run);
    const path = main === null ? undefined : run.paths.find((p) => p.kernel === main.number);
    if (path !== undefined && main !== null && path.shares.length > 0) {
      const top = path.shares[0];
      box.append(figure(`${top.kind} ${percent(top.time_ps / (main.end - main.start))}`, `${letter}on the critical path`, `of ${main.label}, the longest kernel`));
    }
    if (main !== null && run.loaded === run.count) {
      const late = stragglerOf(run, main);
      if (late !== null) {
        const share = late.late / (main.end - main.start);
        box.append(figure(late.core, `${letter}last core of ${main.label}`, `${time(late.late)} (${percent(share)}) after the median core`));
      }
    }
    if (memory !== undefined && runs.length === 1) {
      box.append(figure(bytes(memory.bytes), "on the memory bus, whole run", "check bytes included"));
    }
  }
}

// --- side cards --------------------------------------------------------------------------------------

function facts(list: [string, string][]): HTMLElement {
  const dl = el("dl", { class: "facts" });
  for (const [name, value] of list) dl.append(el("dt", {}, name), el("dd", {}, value));
  return dl;
}

function showSelection(selection: Selection | null): void {
  const card = byId("selection");
  card.replaceChildren(el("h3", {}, "Selection"));
  if (selection === null) {
    card.append(el("span", { class: "dim" }, "Click a slice. Arrow keys go along the unit and between units; Enter zooms to it."));
    return;
  }
  const { run, slice } = selection;
  const kind = run.kindOf(slice);
  const track = run.trackOf(slice);
  const list: [string, string][] = [
    ["name", timeline.nameOf(run, slice)], ["unit", track.path], ["category", kind.category],
    ["start", time(run.start[slice])], ["time", time(run.length[slice])], ["end", time(run.endOf(slice))],
  ];
  if (runs.length > 1) list.unshift(["run", run.letter]);
  if (run.bytes[slice] > 0) {
    list.push(["bytes", `${bytes(run.bytes[slice])} (${count(run.bytes[slice])})`]);
    if (run.length[slice] > 0) list.push(["rate", `${(run.bytes[slice] / run.length[slice] * 1e3).toFixed(2)} GB/s`]);
  }
  if (kind.category === "wait" && run.tracks[run.detail[slice]] !== undefined) list.push(["ended by", run.tracks[run.detail[slice]].path]);
  if (kind.category === "step") list.push(["iteration", String(run.detail[slice])]);
  const kernel = timeline.kernelOf(run, slice);
  if (kernel !== null) list.push(["kernel", kernel.label]);
  if (run.flow[slice] !== 0) list.push(["flow", String(run.flow[slice])]);
  if (run.stands[slice] > 1) list.push(["stands for", `${run.stands[slice]} slices`]);
  card.append(facts(list));
  const actions = el("div", { style: "margin-top:.4rem;display:flex;gap:.4rem;flex-wrap:wrap" },
    button("Zoom to it", "Enter", () => timeline.zoomToSlice()),
    button("Its time as range", "M", () => timeline.setRange({ from: run.start[slice], to: run.endOf(slice) })));
  if (kernel !== null && run.paths.some((p) => p.kernel === kernel.number)) {
    actions.append(button("Path of its kernel", "Show this kernel's critical path", () => choosePath(run, kernel.number)));
  }
  card.append(actions);
}

let stats: RangeStats[] = [];
function showRange(range: Range | null): void {
  const card = byId("range");
  card.replaceChildren(el("h3", {}, "Range"));
  stats = [];
  if (range === null) {
    card.append(el("span", { class: "dim" }, "Drag along the time axis, or Shift and drag anywhere, for the figures of a part of the run. M takes the selection, or what is shown."));
    return;
  }
  card.append(el("div", {}, el("b", { id: "range-length" }, time(range.to - range.from)), ` from ${time(range.from)} to ${time(range.to)} `),
    el("div", { style: "margin:.3rem 0;display:flex;gap:.4rem" }, button("Zoom to it", "Z", () => timeline.show(range.from, range.to)),
      button("Clear", "Escape", () => timeline.setRange(null))));
  for (const run of runs) {
    const s = rangeStats(run, range.from, range.to, timeline.path(run)?.segments ?? null);
    stats.push(s);
    if (runs.length > 1) card.append(el("h3", {}, run.letter));
    const theme = currentTheme();
    if (s.causes.length > 0) {
      card.append(el("div", { class: "dim" }, "critical path here"));
      card.append(el("div", { class: "bars" }, ...s.causes.slice(0, 5).flatMap((c) => [
        el("span", {}, c.kind), el("span", { class: "bar" }, el("i", { style: `width:${c.time / (range.to - range.from) * 100}%;background:${css(causeColor(c.kind, theme))}` })),
        el("span", {}, time(c.time))])));
    }
    const body = el("tbody");
    for (const g of s.groups) {
      body.append(el("tr", {}, el("th", { scope: "row", title: g.units > 1 ? `least ${time(g.least)} (${g.leastUnit}), most ${time(g.most)} (${g.mostUnit})` : "" }, g.name),
        el("td", { class: "number" }, percent(g.busy / g.units / (range.to - range.from))), el("td", { class: "number" }, count(g.slices)),
        el("td", { class: "number" }, bytes(g.bytes))));
    }
    card.append(el("div", { class: "scroll", style: "max-height:16rem", tabindex: "0", role: "region", "aria-label": "Figures of the range" },
      el("table", { id: `range-table-${run.letter}` }, el("thead", {}, el("tr", {}, ...["unit", "busy", "slices", "bytes"].map((n, i) => el("th", { scope: "col", class: i > 0 ? "number" : "" }, n)))), body)));
    if (s.waits.length > 0) {
      card.append(facts(s.waits.map((w): [string, string] => [w.name, time(w.time)])));
    }
  }
}

function showPath(): void {
  const card = byId("path");
  const theme = currentTheme();
  card.replaceChildren(el("h3", {}, "Critical path"));
  let any = false;
  for (const run of runs) {
    const path = timeline.path(run);
    if (path === null) continue;
    any = true;
    const kernel = run.kernels[path.kernel];
    card.append(el("div", { class: "dim" }, `${runs.length > 1 ? `${run.letter}: ` : ""}${kernel.label}, ${time(kernel.end - kernel.start)}`));
    const span = kernel.end - kernel.start;
    const bars = el("div", { class: "bars", role: "list", "aria-label": "Causes" });
    for (const share of path.shares) {
      bars.append(el("span", { role: "listitem", title: `memory busy ${share.memory_busy === null ? "-" : percent(share.memory_busy)}, PT busy ${share.pt_busy === null ? "-" : percent(share.pt_busy)} meanwhile` }, share.kind),
        el("span", { class: "bar" }, el("i", { style: `width:${share.time_ps / span * 100}%;background:${css(causeColor(share.kind, theme))}` })),
        el("span", {}, percent(share.time_ps / span)));
    }
    card.append(bars);
    if (!path.complete) card.append(el("div", { class: "dim" }, "Only a part of this path is here."));
  }
  if (!any) card.append(el("span", { class: "dim" }, "The trace has no kernel to follow."));
}

// --- tables ------------------------------------------------------------------------------------------

function choosePath(run: Run, kernel: number): void {
  timeline.setPath(run.index, kernel);
  const select = byId("path-kernel") as HTMLSelectElement;
  if (run.index === 0) select.value = String(kernel);
  showPath();
}

function goTo(run: Run, kernel: Kernel): void {
  const margin = (kernel.end - kernel.start) * 0.03;
  timeline.show(kernel.start - margin, kernel.end + margin);
  if (run.paths.some((p) => p.kernel === kernel.number)) choosePath(run, kernel.number);
  byId("timeline-section").scrollIntoView({ block: "start" });
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

async function showSections(): Promise<void> {
  const box = byId("sections");
  box.replaceChildren();
  const several = runs.length > 1;
  const roof = roofline(runs, goTo);
  if (roof !== null) box.append(roof);
  await pause();
  for (const run of runs) {
    const cores = coresCard(run, longest(run), several);
    if (cores !== null) box.append(cores);
    await pause();
  }
  for (const run of runs) {
    const lx = lxCard(run, several);
    if (lx !== null) box.append(lx);
    await pause();
  }
  interface KernelRow { run: Run; kernel: Kernel; bytes: number; cause: string; share: number }
  const kernels: KernelRow[] = [];
  for (const run of runs) {
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
  const operations = (await Promise.all(runs.map(operationsOf))).flat();
  const operationColumns = withRun<Operation>([
    { name: "name", value: (r) => r.name },
    { name: "count", value: (r) => r.n, text: (r) => count(r.n) },
    shortTime("total ns", (r) => r.total), shortTime("min ns", (r) => r.least), shortTime("mean ns", (r) => r.total / r.n), shortTime("max ns", (r) => r.most),
    { name: "bytes", value: (r) => r.bytes, text: (r) => bytes(r.bytes) },
  ]);
  const show = (row: Operation): void => {
    timeline.select({ run: row.run, slice: row.firstSlice }, true);
    timeline.zoomToSlice();
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
  const units: UnitRow[] = runs.flatMap((run) => (run.head.summary.groups as Json[]).map((group) => ({ run, group })));
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
  for (const run of runs) {
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
    [several ? "lx-A" : "lx", "LX"], ["kernels", "Kernels"], ["steps", "Steps"], ["operations", "Operations"], ["units", "Units"], [several ? "run-A" : "run", "Run"]];
  if (several) sections.unshift(["changes", "Changes"]);
  for (const [id, name] of sections) if (document.getElementById(id) !== null) nav.append(el("a", { href: `#${id}` }, name));
}

// --- controls ----------------------------------------------------------------------------------------

let matches: Selection[] = [];
let current = -1;

function search(text: string): void {
  timeline.setSearch(text);
  matches = timeline.found();
  current = -1;
  byId("search-count").textContent = text.trim() === "" ? "" : matches.length === 0 ? "no match" : `${count(matches.length)} found`;
}
function nextMatch(by: number): void {
  if (matches.length === 0) return;
  current = (current + by + matches.length) % matches.length;
  if (by < 0 && current < 0) current = matches.length - 1;
  timeline.select(matches[current], true);
  byId("search-count").textContent = `${count(current + 1)} of ${count(matches.length)}`;
}

function controls(): void {
  const box = byId("search") as HTMLInputElement;
  box.addEventListener("input", () => search(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { nextMatch(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { box.value = ""; search(""); timeline.canvas.focus(); }
  });
  byId("search-next").addEventListener("click", () => nextMatch(1));
  byId("search-previous").addEventListener("click", () => nextMatch(-1));
  const unit = byId("unit-filter") as HTMLInputElement;
  unit.addEventListener("input", () => timeline.setUnitFilter(unit.value));
  const theme = currentTheme();
  const categories = [...new Set(runs.flatMap((run) => run.kinds.map((k) => k.category)))];
  const order = ["host", "control", "step", "dma", "pcie", "memory", "ring", "core", "wait", "firmware"];
  categories.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  for (const category of categories) {
    const chip = button("", `Show or hide ${category}`, () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(shown));
      timeline.toggleCategory(category, shown);
    });
    chip.setAttribute("aria-pressed", "true");
    chip.dataset.category = category;
    const dot = el("i", category === "wait" ? { class: "hatched" } : { style: `background:${css(unitColor(category === "core" ? "pt" : category, theme))}` });
    chip.append(dot, category);
    byId("categories").append(chip);
  }
  (byId("grouping") as HTMLSelectElement).addEventListener("change", (event) => timeline.setGrouping((event.target as HTMLSelectElement).value as "unit" | "core"));
  const select = byId("path-kernel") as HTMLSelectElement;
  select.append(el("option", { value: "" }, "nobody"));
  for (const path of runs[0].paths) select.append(el("option", { value: String(path.kernel) }, runs[0].kernels[path.kernel].label));
  select.value = String(timeline.kernelOfPath[0] ?? "");
  select.addEventListener("change", () => {
    const kernel = select.value === "" ? null : Number(select.value);
    timeline.setPath(0, kernel);
    if (kernel === null) for (const run of runs) timeline.setPath(run.index, null);
    else if (runs.length > 1) timeline.setPath(1, runs[1].paths.some((p) => p.kernel === kernel) ? kernel : longest(runs[1])?.number ?? null);
    showPath();
  });
  byId("launches").addEventListener("click", () => timeline.home());
  byId("whole").addEventListener("click", () => timeline.whole());
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = currentTheme().dark ? "light" : "dark";
    retheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  const help = byId("help") as HTMLDialogElement;
  byId("help-button").addEventListener("click", () => help.showModal());
  const keys: [string, string][] = [
    ["Ctrl + wheel, W S", "zoom at the pointer, about the selection"], ["drag, A D, Shift + wheel", "move along the time"],
    ["wheel, Page up, Page down", "move through the rows"], ["drag on the axis, Shift + drag", "choose a range"],
    ["arrow keys", "select the next slice, or the next unit"], ["Enter, F or double click", "zoom to the selection"],
    ["M, Z", "take the selection as range, zoom to the range"], ["/ N Shift+N", "search, next and previous match"],
    ["H or Home, 0", "the launches, the whole run"], ["P", "critical path on or off"], ["Esc", "clear"],
  ];
  const list = el("dl", { class: "facts" });
  for (const [key, what] of keys) list.append(el("dt", {}, el("kbd", {}, key)), el("dd", {}, what));
  byId("help-text").append(el("h2", {}, "Keys and mouse"), list);
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea, dialog[open]") !== null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { box.focus(); box.select(); event.preventDefault(); return; }
    if (event.key === "?") { help.showModal(); return; }
    if (event.key === "n") { nextMatch(1); return; }
    if (event.key === "N") { nextMatch(-1); return; }
    // From anywhere but a control: the keys of the timeline that do not scroll the page.
    if (target === document.body && !event.key.startsWith("Arrow") && !event.key.startsWith("Page") && event.key !== "Home" && timeline.key(event)) event.preventDefault();
  });
}

function retheme(): void {
  timeline.themeChanged();
  showPath();
  showRange(timeline.range);
  for (const chip of document.querySelectorAll<HTMLElement>("#categories button")) {
    const category = chip.dataset.category!;
    if (category !== "wait") chip.querySelector("i")!.style.background = css(unitColor(category === "core" ? "pt" : category, currentTheme()));
  }
  if (runs.every((run) => run.loaded === run.count)) void showSections();
}

async function main(): Promise<void> {
  const letters = ["A", "B"];
  for (let i = 0; document.getElementById(`run-${i}-head`) !== null; ++i) runs.push(await Run.open(i, letters[i]));
  byId("title").textContent = runs.map((run) => (runs.length > 1 ? `${run.letter}: ${run.title}` : run.title)).join("   ");
  byId("facts").textContent = runs.length > 1 ? runs.map((run) => `${run.letter}: ${run.head.summary.metadata?.workload ?? ""}`).join("   ") : describeRun(runs[0]);
  byId("timeline-section").hidden = false;
  timeline = new Timeline(byId("timeline"), runs, { selected: showSelection, ranged: showRange, moved: () => undefined });
  if (runs.length > 1) {
    byId("changes").hidden = false;
    byId("changes").append(...changes(runs[0], runs[1]));
  }
  showFigures();
  showSelection(null);
  showRange(null);
  showPath();
  controls();
  const warnings = runs.flatMap(notes);
  byId("status").textContent = ["Reading the slices ...", ...warnings].join(" ");
  performance.mark("overview");
  await pause();
  for (const run of runs) {
    await run.load(pause);
    timeline.slicesArrived();
  }
  performance.mark("slices");
  for (const run of runs) {
    await prepare(run, timeline.counters(run), pause);
    timeline.redraw();
  }
  showFigures();
  await showSections();
  byId("status").textContent = warnings.join(" ");
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
}

// For tests, and for whoever looks closer with the browser's console.
Object.assign(window, { spyre: { get runs() { return runs; }, get timeline() { return timeline; }, get stats() { return stats; }, rangeStats } });

main().catch((error: unknown) => {
  byId("status").textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
