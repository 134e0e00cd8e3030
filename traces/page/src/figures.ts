// SPDX-License-Identifier: Apache-2.0
// The main figures, above the timeline.

import { app } from "./app";
import { stragglerOf } from "./charts";
import { peaksOf } from "./counters";
import { byId, el } from "./dom";
import { bytes, count, percent, si, time } from "./format";
import { longest } from "./names";
import type { Json } from "./run";

function figure(value: string, what: string, more = ""): HTMLElement {
  return el("div", { class: "figure" }, el("span", {}, what), el("b", { title: value }, value), more === "" ? null : el("small", { title: more }, more));
}

export function showFigures(): void {
  const box = byId("figures");
  box.replaceChildren();
  for (const run of app.runs) {
    const letter = app.runs.length > 1 ? `${run.letter}: ` : "";
    const kernels = run.kernels.filter((k) => !k.name.endsWith(" correction"));
    const span = kernels.reduce((sum, k) => sum + k.end - k.start, 0);
    const macs = kernels.reduce((sum, k) => sum + k.macs, 0);
    const peaks = peaksOf(run);
    box.append(figure(time(run.kernels.length > 0 ? run.launchEnd : run.end - run.begin), `${letter}first to last launch operation`,
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
    // A row for each run.
    if (app.runs.length > 1 && run.index === 0) box.style.gridTemplateColumns = `repeat(${box.childElementCount}, minmax(0, 1fr))`;
    if (memory !== undefined && app.runs.length === 1) {
      box.append(figure(bytes(memory.bytes), "on the memory bus, whole run", "check bytes included"));
    }
  }
}
