// SPDX-License-Identifier: Apache-2.0
// Pairs each kernel of one run with its counterpart in another.

import type { Kernel, Run } from "./run";

export interface Pair { a: Kernel | null; b: Kernel | null }

// Kernel k with kernel k where both runs have the same ones in the same order; otherwise the
// first of a name with the first of that name, and so on. What has no partner stands alone.
export function pairsOf(a: Run, b: Run): Pair[] {
  const isSame = a.kernels.length === b.kernels.length && a.kernels.every((kernel, i) => kernel.name === b.kernels[i].name);
  if (isSame) return a.kernels.map((kernel, i) => ({ a: kernel, b: b.kernels[i] }));
  const left = new Map<string, Kernel[]>();
  for (const kernel of b.kernels) {
    const known = left.get(kernel.name);
    if (known === undefined) left.set(kernel.name, [kernel]); else known.push(kernel);
  }
  const taken = new Map<string, number>();
  const pairs: Pair[] = a.kernels.map((kernel) => {
    const at = taken.get(kernel.name) ?? 0;
    taken.set(kernel.name, at + 1);
    return { a: kernel, b: left.get(kernel.name)?.[at] ?? null };
  });
  for (const [name, kernels] of left) {
    for (const kernel of kernels.slice(taken.get(name) ?? 0)) pairs.push({ a: null, b: kernel });
  }
  return pairs;
}
