// SPDX-License-Identifier: Apache-2.0
// The report page in a real browser. Expected figures are by hand, or from loops over the records as `trace export` has them.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { close, drawn, launch, makePage, makeTrace, launchBegin, open, ps, records, report, runExample, split } from "./browser.mjs";

let first, second, page, kernel;

before(async () => {
  await launch();
  first = runExample("first");
  second = runExample("second", "workload.tile={m=4096}", "workload.split={m=8,n=4}");
  page = await open(makePage("one", first));
  kernel = await open(makePage("kernel", makeTrace("kernel", "kernel")));
});
after(close);

const view = (p) => p.evaluate(() => [spyre.timeline.from, spyre.timeline.to]);
const box = (p) => p.locator("#timeline canvas").boundingBox();
async function focus(p) { await p.locator("#timeline canvas").focus(); }
async function fresh(p) {
  await p.evaluate(() => { spyre.timeline.select(null); spyre.timeline.setRange(null); spyre.timeline.home(); });
  await drawn(p);
}

describe("one run", () => {
  test("begins at the first launch, with the set-up folded away", async () => {
    const [from, to] = await view(page);
    const all = await page.evaluate(() => ({ begin: spyre.runs[0].begin, launch: spyre.runs[0].launchEnd }));
    assert.ok(all.begin < -100e9, "100 ms of set-up are in the trace");
    assert.ok(from > -0.02 * all.launch && to < 1.02 * all.launch, `${from} to ${to}`);
    await page.getByRole("button", { name: "Whole run" }).click();
    assert.ok((await view(page))[0] <= all.begin);
    await page.getByRole("button", { name: "Launches" }).click();
    assert.deepEqual(await view(page), [from, to]);
  });

  test("holds every record of the trace", async () => {
    const expected = records(first).length;
    assert.equal(await page.evaluate(() => spyre.runs[0].loaded), expected);
  });

  test("zooms with the wheel to a single slice, which a click describes", async () => {
    await fresh(page);
    await page.evaluate(() => spyre.timeline.toggleRow(spyre.timeline.rowList().find((row) => row.label === "PT arrays")));
    await drawn(page);
    const where = await page.evaluate(() => {
      const t = spyre.timeline, run = spyre.runs[0];
      const row = t.rowList().find((r) => r.type === "track" && r.tracks[0].path === "core 00/pt");
      t.scroll = row.top - 100; t.clampScroll(); t.redraw();
      const slice = Array.from({ length: row.tracks[0].slices }, (_, i) => row.tracks[0].first + i).find((i) => run.kindOf(i).name === "matmul" && run.start[i] > 50e6);
      return { start: run.start[slice], length: run.length[slice] };
    });
    await drawn(page);
    const b = await box(page);
    const at = () => page.evaluate((s) => {
      const t = spyre.timeline;
      const row = t.rowList().find((r) => r.type === "track" && r.tracks[0].path === "core 00/pt");
      return [t.x(s.start + s.length / 2), t.rowTop(row) + 7];
    }, where);
    for (let i = 0; i < 60 && (await view(page))[1] - (await view(page))[0] > where.length * 4; ++i) {
      const [x, y] = await at();
      await page.mouse.move(b.x + x, b.y + y);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -400);
      await page.keyboard.up("Control");
      await drawn(page);
    }
    const [from, to] = await view(page);
    assert.ok(to - from <= where.length * 4, `${to - from} ps are shown`);
    const [x, y] = await at();
    await page.mouse.click(b.x + x, b.y + y);
    const text = await page.locator("#selection").innerText();
    assert.match(text, /matmul/);
    assert.match(text, /core 00\/pt/);
    // In us with three digits.
    assert.ok(Math.abs(ps(text.match(/time\s+(\S+ \S+)/)[1]) - where.length) <= 500, text);
    await page.evaluate(() => spyre.timeline.toggleRow(spyre.timeline.rowList().find((row) => row.label === "PT arrays")));
  });

  test("search finds what the trace has and steps through it in the order of time", async () => {
    await fresh(page);
    await focus(page);
    await page.keyboard.press("/");
    await page.keyboard.type("LAUNCH");
    const all = records(first).filter((r) => r.name.toLowerCase().includes("launch")).sort((a, b) => a.start_ps - b.start_ps);
    assert.match(await page.locator("#search-count").innerText(), new RegExp(`^${all.length} found`));
    const zero = await page.evaluate(() => spyre.runs[0].zero);
    for (let i = 0; i < 3; ++i) {
      await page.keyboard.press("Enter");
      const start = await page.evaluate(() => spyre.runs[0].start[spyre.timeline.selection.slice]);
      assert.equal(start + zero, Number(all[i].start_ps));
    }
    assert.match(await page.locator("#search-count").innerText(), new RegExp(`^3 of ${all.length}`));
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#search-count").innerText(), "");
  });

  test("figures of a range that is dragged are those of loops over the records", async () => {
    await fresh(page);
    const b = await box(page);
    await page.mouse.move(b.x + 500, b.y + 38);
    await page.mouse.down();
    await page.mouse.move(b.x + 560, b.y + 38);
    await page.mouse.move(b.x + 700, b.y + 38);
    await page.mouse.up();
    const { stats, zero } = await page.evaluate(() => ({ stats: spyre.stats[0], zero: spyre.runs[0].zero }));
    assert.ok(stats.to - stats.from > 10e6);
    const expected = new Map();
    const rows = records(first).filter((r) => r.category !== "wait").map((r) => ({ ...r, start: Number(r.start_ps) - zero, end: Number(r.end_ps) - zero }))
      .sort((x, y) => x.start - y.start);
    for (const r of rows) {
      const a = Math.max(r.start, stats.from), e = Math.min(r.end, stats.to);
      if (e < a || (e === a && r.end > r.start)) continue;
      const group = `${r.process.replace(/ \d+$/, " *")}/${r.track.replace(/ \d+$/, " *")}`;
      const entry = expected.get(group) ?? { slices: 0, bytes: 0, busy: 0, until: new Map() };
      expected.set(group, entry);
      entry.slices += 1;
      entry.bytes += r.end > r.start ? Number(r.bytes) * (e - a) / (r.end - r.start) : Number(r.bytes);
      const track = `${r.process}/${r.track}`;
      const until = entry.until.get(track) ?? -Infinity;
      entry.busy += Math.max(0, e - Math.max(a, until));
      entry.until.set(track, Math.max(until, e));
    }
    assert.ok(stats.groups.length >= 7);
    assert.equal(stats.groups.length, expected.size);
    for (const group of stats.groups) {
      const want = expected.get(group.name);
      assert.equal(group.slices, want.slices, group.name);
      assert.ok(Math.abs(group.busy - want.busy) < 1, `${group.name}: busy ${group.busy}, by hand ${want.busy}`);
      assert.ok(Math.abs(group.bytes - want.bytes) < 1, `${group.name}: ${group.bytes} bytes, by hand ${want.bytes}`);
    }
    assert.ok(await page.locator("#range-table-A tbody tr").count() === stats.groups.length);
  });

  test("a table sorts by the column that is chosen, and back", async () => {
    const column = () => page.locator("#units tbody tr td:nth-child(8)").allInnerTexts().then((all) => all.map((t) => Number(t.replaceAll(",", ""))));
    await page.locator("#units thead").getByRole("button", { name: "slices" }).click();
    let values = await column();
    assert.deepEqual(values, [...values].sort((a, b) => b - a));
    assert.equal(await page.locator("#units thead th:nth-child(8)").getAttribute("aria-sort"), "descending");
    await page.locator("#units thead").getByRole("button", { name: "slices" }).click();
    values = await column();
    assert.deepEqual(values, [...values].sort((a, b) => a - b));
  });

  test("the roof of the ring is that of its data links, without those of partial sums", async () => {
    const labels = await page.locator("#roofline svg text").allTextContents();
    const rate = (66 * 128 * 1300e6 * 0.52) / 1e12; // 33 stops, two ways, bytes a cycle, MHz, the share of cycles
    assert.ok(labels.includes(`ring ${rate.toFixed(2)} TB/s`), labels.filter((l) => l.startsWith("ring")).join());
  });

  test("a table goes to the clipboard as CSV with whole numbers", async () => {
    await page.locator("#kernels").getByRole("button", { name: /Copy/ }).click();
    await page.waitForFunction(() => window.copied.length > 0);
    const lines = (await page.evaluate(() => window.copied.pop())).trim().split("\n");
    const all = records(first).filter((r) => r.category === "control" && r.name.startsWith("COMPUTE"));
    assert.equal(lines.length, all.length + 1);
    assert.equal(lines[0], "kernel,start ns,time ns,MAC/s,memory bytes,GB/s,largest cause");
    const cells = split(lines[2]);
    assert.equal(cells[0], "#1 matmul, tile 0 of 4, m=0..1023");
    assert.equal(Math.round(Number(cells[2]) * 1e3), Number(all[1].end_ps) - Number(all[1].start_ps));
    assert.equal(cells[4], all[1].bytes);
  });

  test("the window is the one that the run reports", async () => {
    const figure = report(first).launch_ns;
    assert.equal(await page.evaluate(() => spyre.runs[0].launchEnd), Math.round(figure * 1e3));
    assert.match(await page.locator("#figures").innerText(), new RegExp(`${(figure / 1e3).toFixed(3)} us`));
    assert.equal(await page.evaluate(() => spyre.runs[0].zero), launchBegin(first));
  });

  test("the control block of a tile says which one it is", async () => {
    const names = await page.evaluate(() => spyre.runs[0].kernels.filter((k) => k.name === "COMPUTE matmul").map((k) => k.label));
    assert.deepEqual(names, [0, 1, 2, 3].map((tile) => `#${2 * tile + 1} matmul, tile ${tile} of 4, m=${tile * 1024}..${tile * 1024 + 1023}`));
    await page.evaluate(() => {
      const run = spyre.runs[0];
      const kernel = run.kernels.find((k) => k.label.startsWith("#3 "));
      for (let i = 0; i < run.count; ++i) {
        if (run.kindOf(i).category === "control" && run.flow[i] === kernel.flow) spyre.timeline.select({ run, slice: i }, true);
      }
    });
    assert.match(await page.locator("#selection").innerText(), /#3 matmul, tile 1 of 4, m=1024\.\.2047/);
  });

  test("the map of LX shows each buffer at its address for as long as it is there", async () => {
    const { lx, division, kernels } = report(first);
    const buffers = lx[0].buffers;
    assert.ok(buffers.length >= 4, "a, b, sums, out");
    assert.equal(Math.max(...buffers.map((b) => b.address + b.bytes)), division.lx_bytes_used);
    assert.ok(division.lx_bytes_used >= 1 << 20, "so that it is written in MiB");
    assert.match(await page.locator("#lx-map .lx-peak").innerText(), new RegExp(`at most ${(division.lx_bytes_used / (1 << 20)).toFixed(2)} MiB of 2\\.00 MiB`));
    assert.equal(await page.locator("#lx-buffers tbody tr").count(), buffers.length);
    await page.locator("#lx-map").scrollIntoViewIfNeeded();
    const map = await page.locator("#lx-map canvas").first().boundingBox();
    const window = await page.evaluate(() => [spyre.runs[0].zero, spyre.runs[0].launchEnd]);
    const at = async (ns, address) => {
      const x = (ns * 1e3 - window[0]) / window[1], y = 1 - address / (2 << 20);
      await page.mouse.move(map.x + x * map.width, map.y + y * map.height);
      return page.locator("#lx-map .lx-what").innerText();
    };
    for (const kernel of kernels) {
      for (const buffer of buffers) {
        const text = await at((kernel.start_ns + kernel.end_ns) / 2, buffer.address + buffer.bytes / 2);
        assert.ok(text.startsWith(`${buffer.name}: `), `${text}, not ${buffer.name}`);
        assert.ok(text.includes(kernel.label), text);
      }
      assert.equal(await at((kernel.start_ns + kernel.end_ns) / 2, division.lx_bytes_used * 1.5), "Nothing is held here.");
    }
    assert.equal(await at((kernels[0].end_ns + kernels[1].start_ns) / 2, buffers[0].bytes / 2).then((text) => text.includes(kernels[0].label)), false);
  });

  test("keys select, zoom, choose a range and let go", async () => {
    await fresh(page);
    await focus(page);
    await page.keyboard.press("ArrowRight");
    const one = await page.evaluate(() => spyre.timeline.selection.slice);
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => spyre.timeline.selection.slice), one + 1);
    const before = await view(page);
    await page.keyboard.press("w");
    const zoomed = await view(page);
    assert.ok(zoomed[1] - zoomed[0] < before[1] - before[0]);
    await page.keyboard.press("d");
    assert.ok((await view(page))[0] > zoomed[0]);
    await page.keyboard.press("Enter");
    const slice = await page.evaluate(() => [spyre.runs[0].start[spyre.timeline.selection.slice], spyre.runs[0].endOf(spyre.timeline.selection.slice)]);
    const shown = await view(page);
    assert.ok(shown[0] <= slice[0] && shown[1] >= slice[1]);
    await page.keyboard.press("m");
    assert.deepEqual(await page.evaluate(() => [spyre.timeline.range.from, spyre.timeline.range.to]), slice);
    await page.keyboard.press("Escape");
    assert.deepEqual(await page.evaluate(() => [spyre.timeline.selection, spyre.timeline.range]), [null, null]);
    await page.keyboard.press("h");
    assert.deepEqual(await view(page), before);
  });

  test("categories and units can be left out", async () => {
    const rows = () => page.evaluate(() => spyre.timeline.rowList().map((row) => row.label));
    assert.ok((await rows()).includes("Memory channels"));
    await page.locator("#categories").getByRole("button", { name: "memory" }).click();
    await drawn(page);
    assert.ok(!(await rows()).includes("Memory channels"));
    await page.locator("#categories").getByRole("button", { name: "memory" }).click();
    await page.locator("#unit-filter").fill("core 03");
    await drawn(page);
    const tracks = await page.evaluate(() => spyre.timeline.rowList().flatMap((row) => row.tracks.map((t) => t.process)));
    assert.ok(tracks.length >= 4 && tracks.every((t) => t === "core 03"), String(tracks));
    await page.locator("#unit-filter").fill("");
  });

  test("arrows lead from the call of the host over the control block to the interrupt", async () => {
    const names = await page.evaluate(() => {
      const run = spyre.runs[0], t = spyre.timeline;
      const slice = Array.from({ length: run.count }, (_, i) => i).find((i) => run.kindOf(i).name === "COMPUTE matmul");
      t.select({ run, slice }, true);
      return spyre.flowChain(run, t.flowSlices).map((i) => [run.kindOf(i).name, run.start[i], run.endOf(i)]);
    });
    assert.deepEqual(names.map((n) => n[0]), ["Launch", "COMPUTE matmul", "wait for interrupt"]);
    assert.ok(names[0][1] <= names[1][1] && names[2][2] >= names[1][2]);
  });

  test("the name of the last core is that of the record that ended last", async () => {
    const longest = await page.evaluate(() => {
      const k = spyre.runs[0].kernels.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
      return { flow: k.flow, end: k.end + spyre.runs[0].zero, start: k.start + spyre.runs[0].zero };
    });
    const last = records(first).filter((r) => r.category === "core" && /^core \d+$/.test(r.process) && Number(r.flow) === longest.flow)
      .reduce((a, b) => (Number(b.end_ps) > Number(a.end_ps) ? b : a));
    assert.match(await page.locator("#cores .straggler-line").innerText(), new RegExp(last.process));
  });

  test("every control has a name", async () => {
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas, a, [role=button]")]
      .filter((e) => (e.getAttribute("aria-label") ?? e.title ?? "") === "" && (e.textContent ?? "").trim() === "" && e.closest("label") === null)
      .map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(nameless, []);
    for (const role of ["tree", "application", "navigation"]) assert.ok(await page.getByRole(role).count() >= 1, role);
  });

  test("nothing was said on the console", () => assert.deepEqual(page.said, []));
});

describe("by hand", () => {
  // The kernel of tests/unit/traces/sample_trace.h; it starts at 1000 ps, which is time 0 of the page.
  test("a range from 1000 to 3600 ps", async () => {
    const stats = await kernel.evaluate(() => spyre.rangeStats(spyre.runs[0], 1000, 3600, spyre.timeline.paths(spyre.runs[0]).flatMap((p) => p.segments)));
    const group = (name) => stats.groups.find((g) => g.name === name);
    // core 00: 2000 to 4500 without a gap; core 01: 2000 to 3500.
    assert.equal(group("core */load").busy, 2500 + 1500);
    assert.equal(group("core */load").slices, 3);
    assert.equal(group("core */pt").busy, 4000 - 3100);
    assert.equal(group("core */vector").busy, 4600 - 3600);
    assert.deepEqual([group("memory/channel *").busy, group("memory/channel *").bytes], [500, 128]);
    assert.equal(group("core */store"), undefined);
    // pt 1600 to 3100 and 4000 to 4600, both rings and the store throughout, the vector unit until 3600.
    assert.deepEqual(stats.waits, [{ name: "token wait", time: 1100 + 600 + 3 * 2600 + 1600 }]);
    // Until 3500 the path depends on the load of core 01, then for 100 ps on the token, then on the vector unit.
    assert.deepEqual(stats.causes, [{ kind: "load", time: 1500 }, { kind: "vector", time: 1000 }, { kind: "token hand-over", time: 100 }]);
  });

  test("half a slice has moved half its bytes", async () => {
    const stats = await kernel.evaluate(() => spyre.rangeStats(spyre.runs[0], 1250, 9000, null));
    assert.equal(stats.groups.find((g) => g.name === "memory/channel *").bytes, 64);
  });

  test("waits are hatched in grey", async () => {
    await kernel.evaluate(() => spyre.timeline.toggleRow(spyre.timeline.rowList().find((row) => row.label === "Store units")));
    await drawn(kernel);
    const colours = await kernel.evaluate(() => {
      const t = spyre.timeline;
      const row = t.rowList().find((r) => r.type === "track" && r.tracks[0].path === "core 00/store");
      const g = t.canvas.getContext("2d");
      const data = g.getImageData(Math.round(t.x(3000)), Math.round(t.rowTop(row) + 7), 24, 1).data;
      return Array.from({ length: 24 }, (_, i) => [data[4 * i], data[4 * i + 1], data[4 * i + 2]].join());
    });
    const kinds = [...new Set(colours)];
    assert.equal(kinds.length, 2, `stripes of two greys: ${kinds}`);
    for (const kind of kinds) {
      const [r, g, b] = kind.split(",").map(Number);
      assert.ok(Math.max(r, g, b) - Math.min(r, g, b) < 20, `grey: ${kind}`);
    }
    assert.ok(colours.filter((c, i) => i > 0 && c !== colours[i - 1]).length >= 4, "they alternate");
  });

  test("the critical path is drawn through the units", async () => {
    await kernel.evaluate(() => { spyre.timeline.rowList().filter((r) => r.open === false).forEach((r) => spyre.timeline.toggleRow(r)); });
    await drawn(kernel);
    await kernel.evaluate(() => {
      const t = spyre.timeline;
      t.scroll = Math.max(0, t.rowList().find((r) => r.type === "track" && r.tracks[0].path === "core 01/vector").top - 60);
      t.clampScroll(); t.redraw();
    });
    await drawn(kernel);
    const isPink = await kernel.evaluate(() => {
      const t = spyre.timeline;
      const row = t.rowList().find((r) => r.type === "track" && r.tracks[0].path === "core 01/vector");
      const d = t.canvas.getContext("2d").getImageData(Math.round(t.x(4000)), Math.round(t.rowTop(row) + 7.5), 1, 1).data;
      return d[0] > 150 && d[1] < 120 && d[2] > 60;
    });
    assert.ok(isPink, "a line runs along the vector unit of core 01 at 4000 ps");
  });

  test("nothing was said on the console", () => assert.deepEqual(kernel.said, []));
});

describe("two runs", () => {
  let both;
  before(async () => { both = await open(makePage("two", first, second)); });

  test("what changed in the configuration comes first", async () => {
    const keys = await both.locator("#configuration-table tbody tr").allInnerTexts();
    assert.deepEqual(keys.map((k) => k.split(/\s+/)), [["workload.split.m", "0", "8"], ["workload.split.n", "0", "4"], ["workload.tile.m", "1024", "4096"]]);
    const order = await both.evaluate(() => document.getElementById("configuration-table").compareDocumentPosition(document.getElementById("timeline")) & Node.DOCUMENT_POSITION_FOLLOWING);
    assert.ok(order !== 0);
  });

  test("both stand in pairs on one time axis that begins at each run's first launch", async () => {
    const labels = await both.evaluate(() => spyre.timeline.rowList().filter((r) => r.type === "group").map((r) => r.label));
    for (let i = 0; i < labels.length; i += 2) assert.equal(labels[i].replace(/^A/, "B"), labels[i + 1]);
    const ends = await both.evaluate(() => spyre.runs.map((run) => run.launchEnd));
    assert.deepEqual(ends, [first, second].map((trace) => Math.round(report(trace).launch_ns * 1e3)));
    const [from, to] = await view(both);
    assert.ok(from <= 0 && to >= Math.max(...ends));
  });

  test("kernels stand in pairs: of unlike counts the first of a name with the first of that name", async () => {
    const rows = await both.locator("#kernel-pairs tbody tr").allInnerTexts().then((all) => all.map((text) => text.split("\t")));
    assert.equal(rows.length, 8, "four matmuls and their corrections, of which B has one each");
    const matmuls = rows.filter((cells) => /^#\d+ matmul,/.test(cells[0]));
    assert.deepEqual(matmuls.map((cells) => cells[1]), ["#1 matmul", "-", "-", "-"]);
    assert.match(matmuls[0][0], /^#1 matmul, tile 0 of 4/);
    const longer = report(second).kernels[0].device_ns - report(first).kernels[0].device_ns;
    assert.ok(Math.abs(ps(matmuls[0][4]) / 1e3 - longer) < 1, `${matmuls[0][4]}, by hand ${longer} ns`);
    assert.equal(matmuls[1][4], "gone");
  });

  test("each run has its own choice of the kernel whose path is shown", async () => {
    await both.locator("#path-kernel-B").selectOption({ label: "#1 matmul" });
    assert.deepEqual(await both.evaluate(() => spyre.runs.map((run) => spyre.timeline.paths(run).length)), [8, 1]);
    await both.locator("#path-kernel").selectOption({ label: "none" });
    assert.deepEqual(await both.evaluate(() => spyre.runs.map((run) => spyre.timeline.paths(run).length)), [0, 1]);
    await both.locator("#kernel-pairs").getByRole("button", { name: "#1 matmul, tile 0 of 4, m=0..1023" }).click();
    assert.deepEqual(await both.evaluate(() => spyre.timeline.kernelOfPath), [1, 1]);
  });

  test("nothing was said on the console", () => assert.deepEqual(both.said, []));
});

describe("looks", () => {
  for (const width of [1280, 3840]) {
    for (const scheme of ["light", "dark"]) {
      test(`${width} pixels, ${scheme}: nothing is cut off, text is readable`, async () => {
        const p = await open(makePage("one", first), { width, height: width * 9 / 16, scheme });
        const found = await p.evaluate(() => ({
          wide: document.documentElement.scrollWidth - innerWidth,
          font: parseFloat(getComputedStyle(document.documentElement).fontSize),
          back: getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number),
        }));
        assert.ok(found.wide <= 0, `the page is ${found.wide} pixels too wide`);
        assert.ok(found.font >= (width > 3000 ? 20 : 14));
        assert.equal(found.back[0] < 128, scheme === "dark");
        await p.screenshot({ path: `${process.env.SPYRE_PAGE_OUT}/${width}_${scheme}.png` });
        assert.deepEqual(p.said, []);
        await p.context().close();
      });
    }
  }
});
