// SPDX-License-Identifier: Apache-2.0
// What lies over the rows: the critical path through the units, the flow of the selection from host to
// interrupt, the selection, the range.

import { time } from "./format";
import type { Path, Run } from "./run";
import { kLane, kMini } from "./rows";
import type { Timeline } from "./timeline";

// The slices of a flow that follow from each other: the call, the control block, its first copy, and the
// wait of the host that it ends.
export function flowChain(run: Run, flow: number[]): number[] {
  const host: number[] = [], control: number[] = [], dma: number[] = [];
  for (const i of flow) {
    const category = run.kindOf(i).category;
    if (category === "host") host.push(i);
    else if (category === "control") control.push(i);
    else if (category === "dma") dma.push(i);
  }
  const byStart = (a: number, b: number): number => run.start[a] - run.start[b];
  const chain = [...host.sort(byStart).slice(0, 1), ...control.sort(byStart).slice(0, 1), ...dma.sort(byStart).slice(0, 1)];
  if (control.length > 0) {
    const end = run.endOf(control[0]);
    let woken = -1;
    for (const t of run.tracks) {
      if (t.process !== "host") continue;
      const [a, b] = run.between(t, end, Infinity);
      for (let i = a; i < b; ++i) {
        const name = run.kindOf(i).name;
        if ((name === "wait for interrupt" || name === "poll") && run.endOf(i) >= end &&
            (woken < 0 || run.endOf(i) < run.endOf(woken))) woken = i;
      }
    }
    if (woken >= 0) chain.push(woken);
  }
  return chain;
}

export class Overlay {
  constructor(private readonly view: Timeline) {}

  draw(g: CanvasRenderingContext2D): void {
    if (this.view.showPath) for (const run of this.view.runs) for (const path of this.view.paths(run)) this.drawPath(g, run, path);
    this.drawFlow(g);
    this.drawSelection(g);
  }

  // Through the units, in the order of time.
  private drawPath(g: CanvasRenderingContext2D, run: Run, path: Path): void {
    const { segments } = path;
    if (segments.length === 0 || segments[0].start > this.view.to || segments[segments.length - 1].end < this.view.from) return;
    const lanes = new Map<number, number | null>();
    const color = this.view.theme.dark ? "#ff5fa8" : "#c2106a";
    g.strokeStyle = color;
    g.lineWidth = 1.6 * this.view.scale;
    g.lineJoin = "round";
    g.beginPath();
    let isDown = false, lastX = -1e9, lastY = 0;
    for (const segment of segments) {
      if (segment.end < this.view.from || segment.start > this.view.to) continue;
      const a = this.view.x(segment.start), b = this.view.x(segment.end);
      let y: number | null | undefined = lanes.get(segment.track);
      if (y === undefined) lanes.set(segment.track, y = segment.track < 0 ? null : this.centre(run, segment.track));
      if (y === null || y === undefined) { isDown = false; continue; } // the launch, or a unit that is not shown
      if (isDown && b - lastX < 0.7 && Math.abs(y - lastY) < 0.5) continue;
      if (!isDown) g.moveTo(Math.max(a, this.view.labelWidth), y); else g.lineTo(a, y);
      g.lineTo(Math.min(b, this.view.cssWidth + 4), y);
      isDown = true;
      lastX = b;
      lastY = y;
    }
    g.stroke();
  }

  private centre(run: Run, track: number, lane = 0): number | null {
    for (const row of this.view.rowList()) {
      if (row.run !== run) continue;
      if (row.type === "track" && row.tracks[0].index === track) {
        return this.view.rowTop(row) + (lane + 0.5) * kLane * this.view.scale;
      }
      if (row.type === "group" && row.open === false && row.tracks.some((t) => t.index === track)) {
        return this.view.rowTop(row) + row.height / 2;
      }
    }
    return null;
  }

  // Draws the flow from the call of the host through the card to the interrupt.
  private drawFlow(g: CanvasRenderingContext2D): void {
    if (this.view.selection === null || this.view.flowSlices.length === 0) return;
    const run = this.view.selection.run;
    const chain = flowChain(run, this.view.flowSlices);
    g.strokeStyle = this.view.theme.accent;
    g.fillStyle = this.view.theme.accent;
    g.lineWidth = 1.5 * this.view.scale;
    for (let i = 0; i + 1 < chain.length; ++i) {
      const a = chain[i], b = chain[i + 1];
      const y0 = this.centre(run, run.trackOf(a).index, run.lane[a]), y1 = this.centre(run, run.trackOf(b).index, run.lane[b]);
      if (y0 === null || y1 === null) continue;
      const isAnswer = run.kindOf(b).category === "host";
      const x0 = this.view.x(isAnswer ? run.endOf(a) : run.start[a]);
      const x1 = this.view.x(isAnswer ? run.endOf(b) : run.start[b]);
      const bend = Math.max(14, Math.min(60, Math.abs(x1 - x0) / 2));
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x1 - 6 * this.view.scale, y1 - 3.5 * this.view.scale);
      g.lineTo(x1 - 6 * this.view.scale, y1 + 3.5 * this.view.scale);
      g.fill();
    }
  }

  private drawSelection(g: CanvasRenderingContext2D): void {
    if (this.view.selection === null) return;
    const { run, slice } = this.view.selection;
    const y = this.centre(run, run.trackOf(slice).index, run.lane[slice]);
    if (y === null) return;
    const a = this.view.x(run.start[slice]), b = Math.max(this.view.x(run.endOf(slice)), a + 2);
    g.strokeStyle = this.view.theme.text;
    g.lineWidth = 2;
    g.strokeRect(Math.max(a, this.view.labelWidth - 4) - 1, y - 8 * this.view.scale, Math.min(b, this.view.cssWidth + 8) - Math.max(a, this.view.labelWidth - 4) + 2, 16 * this.view.scale);
  }

  drawRange(g: CanvasRenderingContext2D): void {
    if (this.view.range === null) return;
    const a = Math.max(this.view.labelWidth, this.view.x(this.view.range.from)), b = Math.min(this.view.cssWidth, this.view.x(this.view.range.to));
    if (b < this.view.labelWidth || a > this.view.cssWidth || b < a) return;
    const mini = kMini * this.view.scale;
    g.fillStyle = this.view.theme.dark ? "rgb(125 176 255 / 16%)" : "rgb(31 95 191 / 11%)";
    g.fillRect(a, mini, b - a, this.view.cssHeight - mini);
    g.fillStyle = this.view.theme.accent;
    g.fillRect(a, mini, 1, this.view.cssHeight);
    g.fillRect(b - 1, mini, 1, this.view.cssHeight);
    this.view.font(g);
    const text = time(this.view.range.to - this.view.range.from);
    const width = g.measureText(text).width + 10;
    const x = Math.max(this.view.labelWidth, Math.min((a + b - width) / 2, this.view.cssWidth - width));
    g.fillRect(x, mini + 3, width, 17 * this.view.scale);
    g.fillStyle = this.view.theme.dark ? "#0b0e13" : "#fff";
    g.fillText(text, x + 5, mini + 3 + 8.5 * this.view.scale);
  }
}
