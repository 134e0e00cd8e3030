// SPDX-License-Identifier: Apache-2.0
// What a slice is called, and what is said of it.

import { bytes, time } from "./format";
import type { Kernel, Run } from "./run";

export function nameOf(run: Run, slice: number): string {
  const kind = run.kindOf(slice);
  if (run.stands[slice] > 1) return `${kind.name} and ${run.stands[slice] - 1} more`;
  if (kind.category === "control" && kind.name.startsWith("COMPUTE")) {
    const kernel = kernelOf(run, slice);
    if (kernel !== null) return kernel.label;
  }
  if (kind.category === "step" && run.detail[slice] > 0) return `${kind.name} [${run.detail[slice]}]`;
  return kind.name;
}

export function kernelOf(run: Run, slice: number): Kernel | null {
  const flow = run.flow[slice];
  if (flow === 0) return null;
  return run.kernels.find((k) => k.flow === flow && run.start[slice] <= k.end) ?? null;
}

export function describe(run: Run, slice: number): string[] {
  const kind = run.kindOf(slice);
  const lines = [nameOf(run, slice), `${run.trackOf(slice).path}`, `${time(run.length[slice])} from ${time(run.start[slice])}`];
  if (run.bytes[slice] > 0) {
    const rate = run.length[slice] > 0 ? `, ${(run.bytes[slice] / run.length[slice] * 1e3).toFixed(2)} GB/s` : "";
    lines.push(`${bytes(run.bytes[slice])}${rate}`);
  }
  if (kind.category === "wait") {
    const by = run.tracks[run.detail[slice]];
    if (by !== undefined) lines.push(`ended by ${by.path}`);
  }
  const kernel = kernelOf(run, slice);
  if (kernel !== null && kind.category !== "control") lines.push(`in kernel ${kernel.label}`);
  return lines;
}

export function longest(run: Run): Kernel | null {
  let best: Kernel | null = null;
  for (const kernel of run.kernels) if (best === null || kernel.end - kernel.start > best.end - best.start) best = kernel;
  return best;
}
