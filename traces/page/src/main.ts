// SPDX-License-Identifier: Apache-2.0
// Puts the page together: reads the runs, shows the timeline as soon as there is an overview, and
// the rest when all slices are there.

import { app, pause } from "./app";
import { changes } from "./compare";
import { controls } from "./controls";
import { prepare } from "./counters";
import { byId } from "./dom";
import { Painter } from "./draw";
import { showFigures } from "./figures";
import { count, time } from "./format";
import { Input } from "./input";
import { flowChain } from "./overlay";
import { Run } from "./run";
import { showSections } from "./sections";
import { showPath, showRange, showSelection } from "./side";
import { rangeStats } from "./stats";
import { Timeline } from "./timeline";

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

async function main(): Promise<void> {
  const letters = ["A", "B"];
  for (let i = 0; document.getElementById(`run-${i}-head`) !== null; ++i) app.runs.push(await Run.open(i, letters[i]));
  byId("title").textContent = app.runs.map((run) => (app.runs.length > 1 ? `${run.letter}: ${run.title}` : run.title)).join("   ");
  byId("facts").textContent = app.runs.length > 1 ? app.runs.map((run) => `${run.letter}: ${run.head.summary.metadata?.workload ?? ""}`).join("   ") : describeRun(app.runs[0]);
  byId("timeline-section").hidden = false;
  app.timeline = new Timeline(byId("timeline"), app.runs, { selected: showSelection, ranged: showRange, draw: () => painter.draw() });
  const painter = new Painter(app.timeline);
  const input = new Input(app.timeline);
  if (app.runs.length > 1) {
    byId("changes").hidden = false;
    byId("changes").append(...changes(app.runs[0], app.runs[1]));
  }
  showFigures();
  showSelection(null);
  showRange(null);
  showPath();
  controls(input);
  const warnings = app.runs.flatMap(notes);
  byId("status").textContent = ["Reading the slices ...", ...warnings].join(" ");
  performance.mark("overview");
  await pause();
  for (const run of app.runs) {
    await run.load(pause);
    app.timeline.slicesArrived();
  }
  performance.mark("slices");
  for (const run of app.runs) {
    await prepare(run, app.timeline.counters(run), pause);
    app.timeline.redraw();
  }
  showFigures();
  await showSections();
  byId("status").textContent = warnings.join(" ");
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
}

// For tests, and for whoever looks closer with the browser's console.
Object.assign(window, { spyre: { get runs() { return app.runs; }, get timeline() { return app.timeline; }, get stats() { return app.stats; }, rangeStats, flowChain } });

main().catch((error: unknown) => {
  byId("status").textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
