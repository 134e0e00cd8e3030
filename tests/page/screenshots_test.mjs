// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/tutorial-faster-matmul.md, of the runs that it makes. With SPYRE_UPDATE_DOCS=1 they are written; without,
// the tests ask that each picture is there, is named in the docs, and shows what the text says.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";
import { close, drawn, launch, makePage, open, runExample } from "./browser.mjs";
import { encodePng } from "./png.mjs";

const docs = fileURLToPath(new URL("../../docs", import.meta.url));
const isUpdate = (process.env.SPYRE_UPDATE_DOCS ?? "") !== "";
const mostBytes = 150 * 1024;
const first = "out/default/trace.sctrace", best = "out/best/trace.sctrace";

before(async () => {
  await launch();
  // Pages have the path of the trace in their title: it is that of the tutorial.
  runExample("out/default");
  runExample("out/best", "workload.tile={m=2048}", "workload.split={m=4,n=8}");
});
after(close);

async function save(page, name, clip) {
  const shot = await page.screenshot({ clip });
  const image = await page.evaluate(async (base64) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const g = canvas.getContext("2d");
    g.drawImage(bitmap, 0, 0);
    const bytes = new Uint8Array(g.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return { width: bitmap.width, height: bitmap.height, bytes: btoa(text) };
  }, shot.toString("base64"));
  const bytes = Buffer.from(image.bytes, "base64");
  const pixels = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const png = encodePng(pixels, image.width, image.height);
  assert.ok(png.length <= mostBytes, `${name}: ${png.length} bytes`);
  writeFileSync(`${isUpdate ? `${docs}/images` : process.env.SPYRE_PAGE_OUT}/${name}.png`, png);
}

async function top(page) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.mouse.move(2, 2);
  await drawn(page);
}

describe("pictures of the tutorial", () => {
  test("overview: the launches from their first operation on, with the path through load and store units", async () => {
    const page = await open(makePage("overview", first), { height: 1180 });
    await page.evaluate(() => spyre.timeline.toggleRow(spyre.timeline.rowList().find((row) => row.label === "Host")));
    await top(page);
    const seen = await page.evaluate(() => {
      const run = spyre.runs[0];
      const units = new Set(spyre.timeline.paths(run).flatMap((path) => path.segments.map((s) => run.tracks[s.track]?.name)));
      return { from: spyre.timeline.from, paths: spyre.timeline.paths(run).length, units: [...units] };
    });
    assert.ok(seen.from <= 0 && seen.paths === 8);
    assert.ok(seen.units.includes("load") && seen.units.includes("store"));
    await save(page, "report-overview");
    assert.deepEqual(page.said, []);
  });

  test("kernel: a tile with its name, and the waits of its units hatched", async () => {
    const page = await open(makePage("kernel_view", first), { height: 800 });
    await page.evaluate(() => {
      const t = spyre.timeline, run = spyre.runs[0];
      const kernel = run.kernels.find((k) => k.label.startsWith("#3 "));
      t.setGrouping("core");
      for (const label of ["Counters", "Host", "Core 00", "Core 01"]) t.toggleRow(t.rowList().find((row) => row.label === label));
      t.show(kernel.start + 20e6, kernel.start + 60e6);
    });
    await top(page);
    const waits = await page.evaluate(() => {
      const t = spyre.timeline, run = spyre.runs[0];
      return t.rowList().filter((row) => row.type === "track" && row.tracks[0].name === "pt").reduce((sum, row) => {
        const [from, to] = run.between(row.tracks[0], t.from, t.to);
        for (let i = from; i < to; ++i) sum += run.isWait[run.kind[i]];
        return sum;
      }, 0);
    });
    assert.ok(waits >= 4, `${waits} waits of PT arrays in sight`);
    await save(page, "report-kernel");
    assert.deepEqual(page.said, []);
  });

  test("compared: what was changed, what came of it, and the kernels in pairs", async () => {
    const page = await open(makePage("compared", first, best), { height: 860 });
    await top(page);
    assert.match(await page.locator("#configuration-table").innerText(), /workload\.tile\.m\s+1024\s+2048/);
    await save(page, "report-compared");
    assert.deepEqual(page.said, []);
  });
});

test("every picture that the docs name is there, and each picture of the page is named", () => {
  const pages = ["tutorial-faster-matmul.md", "tutorial-why-not-lx.md", "traces.md"];
  const named = pages.flatMap((page) => [...readFileSync(`${docs}/${page}`, "utf8").matchAll(/\]\((images\/[^)]+)\)/g)].map((m) => m[1]));
  for (const image of named) {
    assert.ok(existsSync(`${docs}/${image}`), image);
    assert.ok(statSync(`${docs}/${image}`).size <= mostBytes, image);
  }
  for (const name of ["overview", "kernel", "compared"]) assert.ok(named.includes(`images/report-${name}.png`), name);
});
