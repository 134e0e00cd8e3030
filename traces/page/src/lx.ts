// SPDX-License-Identifier: Apache-2.0
// The buffers that kernels keep in LX (traces/run_results.h), and when they were there.

import type { Json, Kernel, Run } from "./run";

export const kCores = 32; // that LxBuffer.cores has bits for

export interface LxBuffer { name: string; address: number; bytes: number; first_step: number; last_step: number; cores: number }
export interface LxProgram { program: string; steps: string[]; buffers: LxBuffer[] }
export interface Lx { capacity: number; programs: LxProgram[] }
// A time in which a kernel or a step of it ran; held: bytes by core.
export interface LxMoment { start: number; end: number; label: string; buffers: LxBuffer[]; held: Float64Array }

export function lxOf(run: Run): Lx | null {
  const lx: Json = run.head.lx;
  if (lx === undefined || lx.programs.length === 0) return null;
  return { capacity: lx.core_bytes, programs: lx.programs };
}

// What buffers share counts once.
export function bytesHeld(buffers: LxBuffer[], core: number): number {
  let held = 0, covered = 0;
  for (const buffer of [...buffers].sort((a, b) => a.address - b.address)) {
    if ((buffer.cores >>> core & 1) === 0) continue;
    const end = buffer.address + buffer.bytes;
    held += Math.max(0, end - Math.max(buffer.address, covered));
    covered = Math.max(covered, end);
  }
  return held;
}

interface Held { buffers: LxBuffer[]; held: Float64Array }

// Keyed by the name of a step; "" stands for the step that holds most.
function byStep(program: LxProgram): Map<string, Held> {
  const out = new Map<string, Held>();
  const most = (h: Held): number => h.held.reduce((a, b) => Math.max(a, b), 0);
  const steps = Math.max(program.steps.length, 1);
  for (let step = 0; step < steps; ++step) {
    const buffers = program.buffers.filter((b) => b.first_step <= step && step <= b.last_step);
    const same = buffers.every((b) => b.cores === buffers[0].cores);
    const held = new Float64Array(kCores);
    const whole = same && buffers.length > 0 ? bytesHeld(buffers, 31 - Math.clz32(buffers[0].cores)) : 0;
    for (let core = 0; core < kCores; ++core) {
      held[core] = same ? (buffers.length > 0 && (buffers[0].cores >>> core & 1) !== 0 ? whole : 0) : bytesHeld(buffers, core);
    }
    const entry = { buffers, held };
    for (const name of ["", ...(step < program.steps.length ? [program.steps[step]] : [])]) {
      const known = out.get(name);
      if (known === undefined || most(entry) > most(known)) out.set(name, entry);
    }
  }
  return out;
}

export function momentsOf(run: Run, lx: Lx): LxMoment[] {
  const programs = new Map(lx.programs.map((p) => [p.program, byStep(p)]));
  const moments: LxMoment[] = [];
  const add = (kernel: Kernel, start: number, end: number, label: string, held: Held): void => {
    moments.push({ start: Math.max(start, kernel.start), end: Math.min(end, kernel.end), label, buffers: held.buffers, held: held.held });
  };
  for (const kernel of run.kernels) {
    const program = programs.get(kernel.program);
    if (program === undefined) continue;
    let hasSteps = false;
    for (const track of run.tracks) {
      if (track.process !== "card" || !track.name.startsWith("stream ")) continue;
      const [from, to] = run.between(track, kernel.start, kernel.end);
      for (let i = from; i < to; ++i) {
        const kind = run.kindOf(i);
        const held = kind.category === "step" && run.flow[i] === kernel.flow ? program.get(kind.name) : undefined;
        if (held === undefined) continue;
        hasSteps = true;
        add(kernel, run.start[i], run.endOf(i), `${kernel.label}, ${kind.name}`, held);
      }
    }
    if (!hasSteps) add(kernel, kernel.start, kernel.end, kernel.label, program.get("")!);
  }
  return moments;
}
