// SPDX-License-Identifier: Apache-2.0
// Traces, pages and a browser for the tests of the report page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const require = createRequire(new URL("../../traces/page/package.json", import.meta.url));
const { chromium } = require("playwright-core");
export const out = process.env.SPYRE_PAGE_OUT;

export function program(...args) {
  return execFileSync(process.env.SPYRE_PROGRAM, args, { encoding: "utf8", maxBuffer: 1 << 30, cwd: out });
}
export function makeTrace(name, what) {
  const path = join(out, `${name}.sctrace`);
  execFileSync(process.env.SPYRE_MAKE_TRACE, [path, String(what)]);
  return path;
}
// A run of the running example, in which nothing is computed: the times are the same.
export function runExample(name, ...sets) {
  const config = new URL("../../configs/tiled_matmul.toml", import.meta.url).pathname;
  const all = ["workload.functional=false", ...sets].flatMap((set) => ["--set", set]);
  program("run", config, ...all, "--out", join(out, name), "--no-progress");
  return join(out, name, "trace.sctrace");
}
export function report(trace) { return JSON.parse(readFileSync(join(dirname(trace), "report.json"), "utf8")); }
// When the first operation of the launches was queued, as the summary has it.
export const launchBegin = (trace) => Math.round(JSON.parse(program("trace", "summary", "--json", trace)).launches.begin_ns * 1e3);
// A figure as the page writes it, in ps.
export const ps = (text) => {
  const [, number, unit] = text.match(/(-?[\d.]+) (ps|ns|us|ms|s)/);
  return Number(number) * { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 }[unit];
};
export function makePage(name, ...traces) {
  const page = join(out, `${name}.html`);
  program("trace", "report", ...traces, "-o", page);
  assert.ok(existsSync(page));
  return page;
}
// Records as `trace export --format csv` has them, times in ps. A trace is exported once.
const exported = new Map();
export function records(trace) {
  if (!exported.has(trace)) exported.set(trace, exportRecords(trace));
  return exported.get(trace);
}
function exportRecords(trace) {
  const lines = program("trace", "export", trace, "--format", "csv", "-o", "-").trim().split("\n");
  const head = split(lines[0]);
  return lines.slice(1).map((line) => Object.fromEntries(split(line).map((cell, i) => [head[i], cell])));
}
export function split(line) {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map((m) => m[1].replace(/^"|"$/g, "").replaceAll('""', '"'));
}

let browser = null;
export async function launch() {
  browser = await chromium.launch({ executablePath: process.env.SPYRE_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
export async function close() { await browser?.close(); }

// A page that is ready. What the console says goes to page.said; page.copied is what went to the clipboard.
export async function open(path, { width = 1280, height = 900, scheme = "light", measured = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true });
  const page = await context.newPage();
  page.said = [];
  page.on("console", (message) => {
    // It is the tests that read pixels back, not the page.
    if (!message.text().includes("willReadFrequently")) page.said.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.said.push(`error: ${error.stack}`));
  await page.addInitScript(() => {
    window.copied = [];
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied.push(text); } } });
  });
  if (measured) {
    page.session = await context.newCDPSession(page);
    await page.session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.addInitScript(() => {
      window.longTasks = 0; // over 100 ms
      new PerformanceObserver((list) => { for (const task of list.getEntries()) if (task.duration > 100) ++window.longTasks; }).observe({ type: "longtask" });
    });
  }
  await page.goto(`file://${path}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, { timeout: 60_000 });
  return page;
}
export async function drawn(page) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}
