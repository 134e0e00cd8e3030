// SPDX-License-Identifier: Apache-2.0
// Two runs: what differs in how they were made, then in what came of it.

import { el } from "./dom";
import { bytes, change, time } from "./format";
import type { Json, Run } from "./run";
import { table } from "./table";

export function flatten(value: Json, prefix = "", out = new Map<string, string>()): Map<string, string> {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) flatten(inner, prefix === "" ? key : `${prefix}.${key}`, out);
  } else {
    out.set(prefix, JSON.stringify(value));
  }
  return out;
}

export interface Difference { key: string; a: string; b: string }
export function differences(a: Json, b: Json): Difference[] {
  const left = flatten(a), right = flatten(b);
  const keys = [...new Set([...left.keys(), ...right.keys()])];
  return keys.filter((key) => left.get(key) !== right.get(key))
    .map((key) => ({ key, a: left.get(key) ?? "(not set)", b: right.get(key) ?? "(not set)" }));
}

export function changes(a: Run, b: Run): HTMLElement[] {
  const config = differences(a.head.summary.metadata?.config ?? {}, b.head.summary.metadata?.config ?? {});
  const others = differences(
    { workload: a.head.summary.metadata?.workload, build: a.head.summary.metadata?.build, division: a.report?.division },
    { workload: b.head.summary.metadata?.workload, build: b.head.summary.metadata?.build, division: b.report?.division });
  const isSame = a.head.summary.digest === b.head.summary.digest;
  const shown = el("section", { class: "card", id: "configuration-changes", "aria-label": "What changed in the configuration" },
    el("div", { class: "card-head" }, el("h3", {}, "What changed in the configuration"),
      el("span", { class: "dim" }, `A: ${a.title}   B: ${b.title}`)));
  const rows = (list: Difference[]): HTMLElement => {
    const body = el("tbody");
    for (const d of list) body.append(el("tr", {}, el("th", { scope: "row" }, d.key), el("td", {}, d.a), el("td", {}, d.b)));
    return body;
  };
  if (config.length + others.length === 0) {
    shown.append(el("p", {}, isSame ? "Nothing: both runs did the same at the same times." : "Nothing: both traces name the same configuration and build."));
  } else {
    const head = (name: string): HTMLElement => el("thead", {}, el("tr", {}, el("th", { scope: "col" }, name), el("th", { scope: "col" }, "A"), el("th", { scope: "col" }, "B")));
    if (config.length > 0) shown.append(el("table", { id: "configuration-table" }, head("key"), rows(config)));
    if (others.length > 0) shown.append(el("h3", { style: "margin:.6rem 0 .2rem" }, "What followed from it"), el("table", {}, head("field"), rows(others)));
  }
  interface Line { name: string; a: number; b: number; text: (v: number) => string; less: boolean }
  const sum = (run: Run, test: (name: string) => boolean, field: string): number =>
    (run.head.summary.groups as Json[]).filter((g) => test(g.name)).reduce((all, g) => all + g[field], 0);
  const kernelTime = (run: Run): number => run.kernels.reduce((all, k) => all + k.end - k.start, 0);
  const isGroup = (prefix: string) => (name: string): boolean => name.startsWith(prefix);
  const lines: Line[] = [
    { name: "first to last launch operation", a: a.launchEnd, b: b.launchEnd, text: time, less: true },
    { name: "kernels and corrections", a: kernelTime(a), b: kernelTime(b), text: time, less: true },
    { name: "bytes on the memory bus", a: sum(a, isGroup("memory/"), "bytes"), b: sum(b, isGroup("memory/"), "bytes"), text: bytes, less: true },
    { name: "bytes to load units", a: sum(a, isGroup("core */load"), "bytes"), b: sum(b, isGroup("core */load"), "bytes"), text: bytes, less: true },
    { name: "bytes over ring links", a: sum(a, isGroup("ring/link"), "bytes"), b: sum(b, isGroup("ring/link"), "bytes"), text: bytes, less: true },
  ];
  const causes = new Map<string, [number, number]>();
  [a, b].forEach((run, i) => {
    for (const path of run.paths) {
      for (const share of path.shares) {
        const entry = causes.get(share.kind) ?? [0, 0];
        entry[i] += share.time_ps;
        causes.set(share.kind, entry);
      }
    }
  });
  const word = (line: Line): HTMLElement => {
    const text = change(line.a, line.b);
    return el("span", { class: line.a === line.b ? "dim" : (line.b < line.a) === line.less ? "good" : "bad" }, text);
  };
  const columns = [
    { name: "figure", value: (l: Line) => l.name },
    { name: "A", value: (l: Line) => l.a, text: (l: Line) => l.text(l.a) },
    { name: "B", value: (l: Line) => l.b, text: (l: Line) => l.text(l.b) },
    { name: "change", value: (l: Line) => (l.a === 0 ? null : l.b / l.a - 1), text: word },
  ];
  const figures = table({ id: "figure-changes", caption: "What came of it", columns, rows: lines });
  const paths = table({
    id: "path-changes", caption: "Critical paths of all kernels shown, by cause", columns, sort: 1,
    rows: [...causes].map(([name, [x, y]]) => ({ name, a: x, b: y, text: time, less: true })),
  });
  return [el("div", { class: "changes" }, shown, figures, paths)];
}
