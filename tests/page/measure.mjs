// SPDX-License-Identifier: Apache-2.0
// Opens a page of two million slices and pans at several zooms. As a program (see README.md in traces/page) it prints what it found.
import { statSync } from "node:fs";
import { close, launch, makePage, makeTrace, open } from "./browser.mjs";

// CPU time of the main thread, in ms.
async function threadMs(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find((m) => m.name === "TaskDuration").value * 1e3;
}

export async function measure() {
  const path = makePage("two_million", makeTrace("two_million", 2_030_000));
  const p = await open(path, { width: 1920, height: 1080, measured: true });
  const session = p.session;
  const openCpuMs = Math.round(await threadMs(session));
  const marks = await p.evaluate(() => Object.fromEntries(performance.getEntriesByType("mark").map((m) => [m.name, Math.round(m.startTime)])));
  const panCpuMs = {};
  let longTasks = 0;
  for (const [name, action] of [
    ["overview", "spyre.timeline.home()"],
    ["all rows open", "spyre.timeline.rowList().filter((r) => r.type === 'group' && !r.open).forEach((r) => spyre.timeline.toggleRow(r))"],
    ["a kernel", "spyre.timeline.zoom(1 / spyre.runs[0].kernels.length)"],
    ["1 us", "spyre.timeline.show(spyre.timeline.from + 40e6, spyre.timeline.from + 41e6)"],
  ]) {
    await p.evaluate(action);
    await p.evaluate(() => { window.longTasks = 0; });
    let worst = 0;
    for (let i = 0; i < 12; ++i) {
      const before = await threadMs(session);
      await p.evaluate(async (i) => {
        spyre.timeline.pan(i < 6 ? 0.04 : -0.04);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      }, i);
      worst = Math.max(worst, await threadMs(session) - before);
    }
    panCpuMs[name] = Math.round(worst);
    longTasks += await p.evaluate(() => window.longTasks);
  }
  const slices = await p.evaluate(() => [spyre.runs[0].count, spyre.runs[0].loaded]);
  return { bytes: statSync(path).size, slices: slices[0], loaded: slices[1], openCpuMs, marks, panCpuMs, longTasks };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  await launch();
  console.log(JSON.stringify(await measure(), null, 2));
  await close();
}
