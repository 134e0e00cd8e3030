// SPDX-License-Identifier: Apache-2.0
// Mouse, wheel and keys of the timeline.

import { valuesOf } from "./counters";
import { percent, time } from "./format";
import { busyShare } from "./raster";
import { describe } from "./names";
import { kMini } from "./rows";
import type { Timeline } from "./timeline";

export class Input {
  constructor(private readonly t: Timeline) { this.listen(); }

  private listen(): void {
    const { canvas, root } = this.t;
    root.addEventListener("wheel", (event) => {
      const x = event.clientX - root.getBoundingClientRect().left;
      const unit = event.deltaMode === 1 ? 18 : 1;
      if (event.ctrlKey || event.metaKey) {
        this.t.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.004))), this.t.timeAt(Math.max(x, this.t.labelWidth)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.t.pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit / (this.t.cssWidth - this.t.labelWidth));
      } else {
        const before = this.t.scroll;
        this.t.scroll += event.deltaY * unit;
        this.t.clampScroll();
        if (this.t.scroll === before) return; // the page goes on
        this.t.redraw();
      }
      event.preventDefault();
    }, { passive: false });

    let drag: { x: number; y: number; from: number; to: number; scroll: number; kind: "pan" | "range" | "mini"; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const kind = y < kMini * this.t.scale ? "mini" : y < this.t.top || event.shiftKey ? "range" : "pan";
      drag = { x, y, from: this.t.from, to: this.t.to, scroll: this.t.scroll, kind, moved: false };
      canvas.setPointerCapture(event.pointerId);
      if (kind === "mini") this.moveMini(x);
      this.t.tip.hidden = true;
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (drag === null) { this.hover(x, y); return; }
      if (!drag.moved && Math.abs(x - drag.x) < 4 && Math.abs(y - drag.y) < 4) return;
      drag.moved = true;
      if (drag.kind === "mini") this.moveMini(x);
      if (drag.kind === "range") this.t.setRange({ from: this.t.timeAt(drag.x), to: this.t.timeAt(x) });
      if (drag.kind === "pan") {
        const by = (drag.x - x) / (this.t.cssWidth - this.t.labelWidth) * (drag.to - drag.from);
        this.t.scroll = drag.scroll + drag.y - y;
        this.t.clampScroll();
        this.t.show(drag.from + by, drag.to + by);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (was === null || was.moved || was.kind === "mini") return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (was.kind === "range" && y < this.t.top) { this.t.setRange(null); return; }
      canvas.focus({ preventScroll: true });
      const row = this.t.rowAt(y);
      if (row !== null && row.type === "path") {
        const segment = this.t.segmentAt(row.run, this.t.timeAt(x));
        if (segment !== undefined) this.t.setRange({ from: segment.start, to: segment.end });
        return;
      }
      this.t.select(this.t.sliceAt(x, y));
    });
    canvas.addEventListener("dblclick", (event) => {
      const box = canvas.getBoundingClientRect();
      const row = this.t.rowAt(event.clientY - box.top);
      if (row !== null && row.type === "group") this.t.toggleRow(row);
      else this.t.zoomToSlice();
    });
    canvas.addEventListener("pointerleave", () => { this.t.tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => { if (this.key(event)) event.preventDefault(); });
  }

  private moveMini(x: number): void {
    const [low, high] = this.t.miniSpan();
    const t = low + (x - this.t.labelWidth) / (this.t.cssWidth - this.t.labelWidth) * (high - low);
    const span = this.t.to - this.t.from;
    this.t.show(t - span / 2, t + span / 2);
  }

  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
      case "w": case "W": case "+": case "=": this.t.zoom(0.7, this.anchor()); return true;
      case "s": case "S": case "-": this.t.zoom(1 / 0.7, this.anchor()); return true;
      case "a": case "A": this.t.pan(-0.15); return true;
      case "d": case "D": this.t.pan(0.15); return true;
      case "ArrowLeft": this.t.step(-1); return true;
      case "ArrowRight": this.t.step(1); return true;
      case "ArrowUp": this.t.stepRow(-1); return true;
      case "ArrowDown": this.t.stepRow(1); return true;
      case "PageDown": this.t.scroll += this.t.cssHeight * 0.7; this.t.clampScroll(); this.t.redraw(); return true;
      case "PageUp": this.t.scroll -= this.t.cssHeight * 0.7; this.t.clampScroll(); this.t.redraw(); return true;
      case "Home": case "h": this.t.home(); return true;
      case "0": this.t.whole(); return true;
      case "Enter": case "f": this.t.zoomToSlice(); return true;
      case "m": case "M":
        if (this.t.selection !== null) {
          const { run, slice } = this.t.selection;
          this.t.setRange({ from: run.start[slice], to: run.endOf(slice) });
        } else {
          this.t.setRange({ from: this.t.from, to: this.t.to });
        }
        return true;
      case "z": if (this.t.range !== null) this.t.show(this.t.range.from, this.t.range.to); return true;
      case "p": this.t.showPath = !this.t.showPath; this.t.redraw(); return true;
      case "Escape": this.t.select(null); this.t.setRange(null); return true;
      default: return false;
    }
  }
  // Keys zoom about the selection if it is in sight.
  private anchor(): number {
    if (this.t.selection !== null) {
      const middle = this.t.selection.run.start[this.t.selection.slice] + this.t.selection.run.length[this.t.selection.slice] / 2;
      if (middle > this.t.from && middle < this.t.to) return middle;
    }
    return (this.t.from + this.t.to) / 2;
  }

  private hover(x: number, y: number): void {
    const row = this.t.rowAt(y);
    this.t.canvas.style.cursor = y < this.t.top && y > kMini * this.t.scale ? "col-resize" : "default";
    let text: string[] = [];
    if (row !== null && x > this.t.labelWidth) {
      const t = this.t.timeAt(x);
      if (row.type === "track") {
        const hit = this.t.sliceAt(x, y);
        if (hit !== null) { this.t.canvas.style.cursor = "pointer"; text = describe(hit.run, hit.slice); }
      } else if (row.type === "path") {
        const segment = this.t.segmentAt(row.run, t);
        if (segment !== undefined) {
          text = [`depends on ${segment.kind}${segment.name === "" ? "" : ` (${segment.name})`}`, time(segment.end - segment.start),
            segment.track < 0 ? "" : row.run.tracks[segment.track].path];
        }
      } else if (row.type === "counter" && row.counter !== null) {
        const per = (this.t.to - this.t.from) / (this.t.cssWidth - this.t.labelWidth);
        const values = valuesOf(row.run, row.counter, 1, t - per, 2 * per);
        if (values !== null) {
          text = [`${row.counter.name} at ${time(t)}`, ...row.counter.series.map((s, i) => `${s.name}: ${row.counter!.format(values[i][0])}`)];
          if (row.counter.peak > 0 && row.counter.peakName !== "always") text.push(`${row.counter.peakName}: ${row.counter.format(row.counter.peak)}`);
        }
      } else if (row.type === "group") {
        const per = (this.t.to - this.t.from) / (this.t.cssWidth - this.t.labelWidth);
        const share = busyShare(row.run, row.tracks, 1, t - per, 2 * per)[0];
        text = [row.label, `${percent(share)} busy at ${time(t)}`, "click the name to open"];
      } else if (row.type === "queue") {
        const queue = this.t.queues.get(row.run);
        if (queue !== undefined) {
          let i = queue.times.findIndex((q) => q > t) - 1;
          if (i === -2) i = queue.times.length - 1;
          text = [`${i < 0 ? 0 : queue.depth[i]} control blocks queued or running at ${time(t)}`];
        }
      }
    }
    this.t.tip.hidden = text.length === 0;
    if (text.length === 0) return;
    this.t.tip.textContent = text.filter((line) => line !== "").join("\n");
    const width = this.t.tip.offsetWidth, height = this.t.tip.offsetHeight;
    this.t.tip.style.left = `${Math.max(4, Math.min(x + 14, this.t.cssWidth - width - 6))}px`;
    this.t.tip.style.top = `${y + 18 + height > this.t.cssHeight ? y - height - 8 : y + 18}px`;
  }
}
