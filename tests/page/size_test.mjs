// SPDX-License-Identifier: Apache-2.0
// Two million slices: all of them are in the page, which stays small, and no frame takes long. Time is that of the processor on the
// main thread, so that what else the machine does is not counted. measure.mjs prints the figures of docs/traces.md.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { measure } from "./measure.mjs";
import { close, launch } from "./browser.mjs";

let found;
before(async () => { await launch(); found = await measure(); });
after(close);

test("a page of two million slices has at most 15 MB", () => {
  assert.ok(found.slices >= 2_000_000);
  assert.equal(found.loaded, found.slices);
  assert.ok(found.bytes <= 15e6, `${found.bytes} bytes`);
});
test("its main thread works for less than 3 s until all is there", () => assert.ok(found.openCpuMs < 3000, `${found.openCpuMs} ms`));
test("no frame of a pan works for 100 ms, from the overview to single slices", () => {
  for (const [level, ms] of Object.entries(found.panCpuMs)) assert.ok(ms < 100, `${level}: ${ms} ms`);
});
