// SPDX-License-Identifier: Apache-2.0
// What the scratchpads (LX) held over time: the buffers of each kernel's program, during the steps
// that it recorded, or during all of it.

import { css, currentTheme, mix, pixel, toRgb, unitColor, type Rgb, type Theme } from "./colors";
import { el } from "./dom";
import { bytes, count, percent, time } from "./format";
import { kCores, lxOf, momentsOf, type LxBuffer, type LxMoment, type LxProgram } from "./lx";
import type { Run } from "./run";
import { table } from "./table";

const kColumns = 1240, kMapHeight = 220;
const kMostRectangles = 200_000;

function bufferColor(name: string, theme: Theme): Rgb {
  const known: [RegExp, string][] = [[/^(a|b|q|k|v|input)\b/, "load"], [/^out\b/, "store"], [/sums/, "pt"], [/^(temporary|constants)/, "vector"]];
  for (const [pattern, unit] of known) {
    if (pattern.test(name)) return unitColor(unit, theme, name.startsWith("b") || name.startsWith("v") ? 4 : 0);
  }
  let hash = 7;
  for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return toRgb((hash >>> 2) % 360, 50, theme.dark ? 60 : 64);
}

// A row of every core over time, bright where its LX is full.
function heldRows(run: Run, moments: LxMoment[], cores: number[], capacity: number, theme: Theme): HTMLCanvasElement {
  const rowHeight = 5;
  const canvas = document.createElement("canvas");
  canvas.className = "heat";
  canvas.width = kColumns;
  canvas.height = cores.length * rowHeight;
  canvas.style.height = `${Math.max(cores.length * 5, 40)}px`;
  const image = new ImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(pixel(theme.back));
  const per = run.launchEnd / kColumns;
  const most = new Float64Array(kColumns);
  cores.forEach((core, row) => {
    most.fill(0);
    for (const moment of moments) {
      const held = moment.held[core];
      const last = Math.min(kColumns - 1, Math.floor(moment.end / per));
      for (let x = Math.max(0, Math.floor(moment.start / per)); x <= last; ++x) most[x] = Math.max(most[x], held);
    }
    for (let x = 0; x < kColumns; ++x) {
      const color = pixel(mix(theme.back, unitColor("load", theme), Math.min(1, most[x] / capacity)));
      for (let y = row * rowHeight; y < (row + 1) * rowHeight - (cores.length > 1 ? 1 : 0); ++y) pixels[y * kColumns + x] = color;
    }
  });
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Bytes held in the LX of ${cores.length} cores over the launches`);
  return canvas;
}

interface Rectangle { x0: number; x1: number; y0: number; y1: number; buffer: LxBuffer; moment: LxMoment }

// Addresses of one core over time; returns what lies where, for the pointer.
function drawMap(canvas: HTMLCanvasElement, run: Run, moments: LxMoment[], core: number, capacity: number, theme: Theme): Rectangle[] {
  const g = canvas.getContext("2d")!;
  g.fillStyle = css(theme.back);
  g.fillRect(0, 0, kColumns, kMapHeight);
  const rectangles: Rectangle[] = [];
  const x = (t: number): number => Math.min(Math.max(t / run.launchEnd, 0), 1) * kColumns;
  const y = (address: number): number => kMapHeight - Math.min(address / capacity, 1) * kMapHeight;
  for (const moment of moments) {
    const x0 = x(moment.start), x1 = Math.max(x(moment.end), x0 + 0.5);
    for (const buffer of moment.buffers) {
      if ((buffer.cores >>> core & 1) === 0 || rectangles.length >= kMostRectangles) continue;
      const y0 = y(buffer.address + buffer.bytes), y1 = Math.max(y(buffer.address), y0 + 1);
      const color = bufferColor(buffer.name, theme);
      g.fillStyle = css(color);
      g.fillRect(x0, y0, x1 - x0, y1 - y0);
      if (x1 - x0 > 3 && y1 - y0 > 3) {
        g.strokeStyle = css(mix(color, theme.back, 0.6));
        g.strokeRect(x0 + 0.5, y0 + 0.5, x1 - x0 - 1, y1 - y0 - 1);
      }
      if (x1 - x0 > 60 && y1 - y0 > 12) {
        g.fillStyle = "#10151c";
        g.font = "11px system-ui, sans-serif";
        g.textBaseline = "middle";
        g.fillText(buffer.name, x0 + 5, (y0 + y1) / 2, x1 - x0 - 8);
      }
      rectangles.push({ x0, x1, y0, y1, buffer, moment });
    }
  }
  return rectangles;
}

export function lxMapCard(run: Run, several: boolean): HTMLElement[] {
  const lx = lxOf(run);
  if (lx === null) return [];
  const moments = momentsOf(run, lx);
  if (moments.length === 0) return [];
  const theme = currentTheme();
  const used = Array.from({ length: kCores }, (_, core) => core).filter((core) => moments.some((m) => m.held[core] > 0));
  let peak = moments[0], peakCore = used[0] ?? 0;
  for (const moment of moments) for (const core of used) if (moment.held[core] > peak.held[peakCore]) { peak = moment; peakCore = core; }
  const most = peak.held[peakCore];
  const capacity = lx.capacity > 0 ? lx.capacity : most;
  // Of little use only the part of LX that is used is drawn, with some room above it.
  const end = lx.programs.reduce((all, program) => program.buffers.reduce((last, b) => Math.max(last, b.address + b.bytes), all), 0);
  const top = end > capacity / 4 ? Math.max(capacity, end) : end * 1.25;
  const letter = several ? `${run.letter}: ` : "";
  const map = document.createElement("canvas");
  map.className = "heat lx-map";
  map.width = kColumns;
  map.height = kMapHeight;
  map.style.height = `${kMapHeight}px`;
  map.setAttribute("role", "img");
  const what = el("div", { class: "dim lx-what", role: "status" }, "Point at a buffer for its name, address and steps.");
  let rectangles: Rectangle[] = [];
  const choose = (core: number): void => {
    rectangles = drawMap(map, run, moments, core, top, theme);
    map.setAttribute("aria-label", `Buffers in the LX of core ${core} over the launches: ${rectangles.length} in ${moments.length} times`);
  };
  const select = el("select", { "aria-label": "Core" }) as HTMLSelectElement;
  for (const core of used) select.append(el("option", { value: String(core) }, `core ${String(core).padStart(2, "0")}`));
  select.value = String(peakCore);
  select.addEventListener("change", () => choose(Number(select.value)));
  map.addEventListener("pointermove", (event) => {
    const box = map.getBoundingClientRect();
    const px = (event.clientX - box.left) / box.width * kColumns, py = (event.clientY - box.top) / box.height * kMapHeight;
    const hit = rectangles.find((r) => px >= r.x0 && px <= r.x1 && py >= r.y0 && py <= r.y1);
    what.textContent = hit === undefined ? "Nothing is held here."
      : `${hit.buffer.name}: ${bytes(hit.buffer.bytes)} from address ${count(hit.buffer.address)}, in ${hit.moment.label}, ${time(hit.moment.start)} to ${time(hit.moment.end)}`;
  });
  choose(peakCore);
  const card = el("section", { class: "card wide", id: several ? `lx-map-${run.letter}` : "lx-map", "aria-label": "LX occupancy" },
    el("div", { class: "card-head" }, el("h3", {}, `${letter}What LX holds`), select,
      el("span", { class: "dim right lx-peak" }, `at most ${bytes(most)} of ${bytes(capacity)} (${percent(most / capacity)}), in ${peak.label}`)),
    map, what,
    el("div", { class: "key" }, el("span", {}, `address 0 at the bottom, ${bytes(top)} at the top`), el("span", {}, `from the first launch to ${time(run.launchEnd)}`)),
    el("div", { class: "dim", style: "margin:.5rem 0 .2rem" }, `Bytes held: core ${used[0]} at the top, core ${used[used.length - 1]} at the bottom; full colour is ${bytes(top)}`),
    heldRows(run, moments, used, top, theme));
  interface BufferRow { program: LxProgram; buffer: LxBuffer }
  const rows: BufferRow[] = lx.programs.flatMap((program) => program.buffers.map((buffer) => ({ program, buffer })));
  const step = (program: LxProgram, i: number): string => program.steps[i] ?? "";
  const buffers = table<BufferRow>({
    id: several ? `lx-buffers-${run.letter}` : "lx-buffers", caption: `${letter}LX buffers`, rows,
    columns: [
      { name: "buffer", value: (r) => r.buffer.name },
      { name: "program", value: (r) => r.program.program },
      { name: "address", value: (r) => r.buffer.address, text: (r) => count(r.buffer.address) },
      { name: "bytes", value: (r) => r.buffer.bytes, text: (r) => bytes(r.buffer.bytes) },
      { name: "first step", value: (r) => r.buffer.first_step, text: (r) => `${r.buffer.first_step} ${step(r.program, r.buffer.first_step)}` },
      { name: "last step", value: (r) => r.buffer.last_step, text: (r) => `${r.buffer.last_step} ${step(r.program, r.buffer.last_step)}` },
      { name: "cores", value: (r) => used.filter((core) => (r.buffer.cores >>> core & 1) !== 0).length },
    ],
  });
  return [card, buffers];
}
