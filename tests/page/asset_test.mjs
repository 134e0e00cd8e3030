// SPDX-License-Identifier: Apache-2.0
// The page that is committed is what its sources give.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const folder = fileURLToPath(new URL("../../traces/page", import.meta.url));

test("report.html is what its sources give", () => {
  const run = spawnSync(process.execPath, ["build.mjs", "--check"], { cwd: folder, encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
});

test("the sources have no mistake of types", (t) => {
  const run = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit"], { cwd: folder, encoding: "utf8" });
  if (run.error !== undefined) t.skip("typescript is not installed");
  assert.equal(run.status, 0, run.stdout);
});

test("the page asks no network for anything", () => {
  const page = readFileSync(`${folder}/report.html`, "utf8");
  // The name space of SVG is a name; nothing is read from it.
  const addresses = page.match(/https?:\/\/[^"'\s]*/g)?.filter((a) => a !== "http://www.w3.org/2000/svg") ?? [];
  assert.deepEqual(addresses, []);
  for (const call of ["fetch(", "XMLHttpRequest", "WebSocket", "importScripts", "sendBeacon", "@import"]) assert.ok(!page.includes(call), call);
});
