// SPDX-License-Identifier: Apache-2.0
// The cards beside the timeline: what is selected, the figures of a range, the critical path.

import { app } from "./app";
import { causeColor, css, currentTheme } from "./colors";
import { byId, button, el } from "./dom";
import { bytes, count, percent, time } from "./format";
import { kernelOf, nameOf } from "./names";
import type { Run } from "./run";
import { rangeStats } from "./stats";
import type { Range, Selection } from "./timeline";

export function facts(list: [string, string][]): HTMLElement {
  const dl = el("dl", { class: "facts" });
  for (const [name, value] of list) dl.append(el("dt", {}, name), el("dd", {}, value));
  return dl;
}

export function showSelection(selection: Selection | null): void {
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
    ["name", nameOf(run, slice)], ["unit", track.path], ["category", kind.category],
    ["start", time(run.start[slice])], ["time", time(run.length[slice])], ["end", time(run.endOf(slice))],
  ];
  if (app.runs.length > 1) list.unshift(["run", run.letter]);
  if (run.bytes[slice] > 0) {
    list.push(["bytes", `${bytes(run.bytes[slice])} (${count(run.bytes[slice])})`]);
    if (run.length[slice] > 0) list.push(["rate", `${(run.bytes[slice] / run.length[slice] * 1e3).toFixed(2)} GB/s`]);
  }
  if (kind.category === "wait" && run.tracks[run.detail[slice]] !== undefined) list.push(["ended by", run.tracks[run.detail[slice]].path]);
  if (kind.category === "step") list.push(["iteration", String(run.detail[slice])]);
  const kernel = kernelOf(run, slice);
  if (kernel !== null) list.push(["kernel", kernel.label]);
  if (run.flow[slice] !== 0) list.push(["flow", String(run.flow[slice])]);
  if (run.stands[slice] > 1) list.push(["stands for", `${run.stands[slice]} slices`]);
  card.append(facts(list));
  const actions = el("div", { style: "margin-top:.4rem;display:flex;gap:.4rem;flex-wrap:wrap" },
    button("Zoom to it", "Enter", () => app.timeline.zoomToSlice()),
    button("Its time as range", "M", () => app.timeline.setRange({ from: run.start[slice], to: run.endOf(slice) })));
  if (kernel !== null && run.paths.some((p) => p.kernel === kernel.number)) {
    actions.append(button("Path of its kernel", "Show this kernel's critical path", () => choosePath(run, kernel.number)));
  }
  card.append(actions);
}

export function showRange(range: Range | null): void {
  const card = byId("range");
  card.replaceChildren(el("h3", {}, "Range"));
  app.stats = [];
  if (range === null) {
    card.append(el("span", { class: "dim" }, "Drag along the time axis, or Shift and drag anywhere, for the figures of a part of the run. M takes the selection, or what is shown."));
    return;
  }
  card.append(el("div", {}, el("b", { id: "range-length" }, time(range.to - range.from)), ` from ${time(range.from)} to ${time(range.to)} `),
    el("div", { style: "margin:.3rem 0;display:flex;gap:.4rem" }, button("Zoom to it", "Z", () => app.timeline.show(range.from, range.to)),
      button("Clear", "Escape", () => app.timeline.setRange(null))));
  for (const run of app.runs) {
    const s = rangeStats(run, range.from, range.to, app.timeline.paths(run).flatMap((p) => p.segments));
    app.stats.push(s);
    if (app.runs.length > 1) card.append(el("h3", {}, run.letter));
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

export function showPath(): void {
  const card = byId("path");
  const theme = currentTheme();
  card.replaceChildren(el("h3", {}, "Critical path"));
  let any = false;
  for (const run of app.runs) {
    const paths = app.timeline.paths(run);
    if (paths.length === 0) continue;
    any = true;
    const kernels = paths.map((p) => run.kernelOf(p));
    const span = kernels.reduce((sum, k) => sum + k.end - k.start, 0);
    const what = paths.length === 1 ? kernels[0].label : `${paths.length} kernels${run.paths.length < run.kernels.length ? ", the longest" : ""}`;
    card.append(el("div", { class: "dim" }, `${app.runs.length > 1 ? `${run.letter}: ` : ""}${what}, ${time(span)}`));
    const causes = new Map<string, number>();
    for (const p of paths) for (const share of p.shares) causes.set(share.kind, (causes.get(share.kind) ?? 0) + share.time_ps);
    const bars = el("div", { class: "bars", role: "list", "aria-label": "Causes" });
    for (const [kind, ps] of [...causes].sort((x, y) => y[1] - x[1])) {
      const share = paths.length === 1 ? paths[0].shares.find((one) => one.kind === kind) : undefined;
      const more = share === undefined ? time(ps) : `${time(ps)}; meanwhile memory busy ${share.memory_busy === null ? "-" : percent(share.memory_busy)}, PT busy ${share.pt_busy === null ? "-" : percent(share.pt_busy)}`;
      bars.append(el("span", { role: "listitem", title: more }, kind),
        el("span", { class: "bar" }, el("i", { style: `width:${ps / span * 100}%;background:${css(causeColor(kind, theme))}` })),
        el("span", {}, percent(ps / span)));
    }
    card.append(bars);
    if (paths.some((p) => !p.complete)) card.append(el("div", { class: "dim" }, "Only a part of a path is here."));
  }
  if (!any) card.append(el("span", { class: "dim" }, "The trace has no kernel to follow."));
}

export const pathSelect = (run: Run): string => `path-kernel${run.index === 0 ? "" : `-${run.letter}`}`;

export function choosePath(run: Run, kernel: number): void {
  app.timeline.setPath(run.index, kernel);
  (byId(pathSelect(run)) as HTMLSelectElement).value = String(kernel);
  showPath();
}
