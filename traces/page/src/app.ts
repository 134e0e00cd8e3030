// SPDX-License-Identifier: Apache-2.0
// What the parts of the page share: the runs, and the timeline once it is there.

import type { Run } from "./run";
import type { RangeStats } from "./stats";
import type { Timeline } from "./timeline";

export const app: { runs: Run[]; timeline: Timeline; stats: RangeStats[] } = {
  runs: [], timeline: null as unknown as Timeline, stats: [],
};

// Lets the browser do other things: what takes long is done in parts.
export const pause = (): Promise<void> => new Promise((resolve) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => resolve();
  channel.port2.postMessage(null);
});
