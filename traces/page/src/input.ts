// SPDX-License-Identifier: Apache-2.0
// Mouse, wheel and keys of the timeline.

import { valuesOf } from "./counters";
import { percent, time } from "./format";
import { busyShare } from "./raster";
import { describe } from "./names";
import { kMini } from "./rows";
import type { Timeline } from "./timeline";

export class Input {
  constructor(private readonly view: Timeline) { this.listen(); }

  private listen(): void {
    const { canvas, root } = this.view;
    root.addEventListener("wheel", (event) => {
      const x = event.clientX - root.getBoundingClientRect().left;
      const unit = event.deltaMode === 1 ? 18 : 1;
      if (event.ctrlKey || event.metaKey) {
        this.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.004))), this.view.timeAt(Math.max(x, this.view.labelWidth)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.view.pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit / (this.view.cssWidth - this.view.labelWidth));
      } else {
        const before = this.view.scroll;
        this.view.scroll += event.deltaY * unit;
        this.view.clampScroll();
        if (this.view.scroll === before) return; // the page goes on
        this.view.redraw();
      }
      event.preventDefault();
    }, { passive: false });

    let drag: { x: number; y: number; from: number; to: number; scroll: number; kind: "pan" | "range" | "mini"; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const kind = y < kMini * this.view.scale ? "mini" : y < this.view.top || event.shiftKey ? "range" : "pan";
      drag = { x, y, from: this.view.from, to: this.view.to, scroll: this.view.scroll, kind, moved: false };
      canvas.setPointerCapture(event.pointerId);
      if (kind === "mini") this.moveMini(x);
      this.view.tip.hidden = true;
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (drag === null) { this.hover(x, y); return; }
      if (!drag.moved && Math.abs(x - drag.x) < 4 && Math.abs(y - drag.y) < 4) return;
      drag.moved = true;
      if (drag.kind === "mini") this.moveMini(x);
      if (drag.kind === "range") this.view.setRange({ from: this.view.timeAt(drag.x), to: this.view.timeAt(x) });
      if (drag.kind === "pan") {
        const by = (drag.x - x) / (this.view.cssWidth - this.view.labelWidth) * (drag.to - drag.from);
        this.view.scroll = drag.scroll + drag.y - y;
        this.view.clampScroll();
        this.view.show(drag.from + by, drag.to + by);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (was === null || was.moved || was.kind === "mini") return;
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      if (was.kind === "range" && y < this.view.top) { this.view.setRange(null); return; }
      canvas.focus({ preventScroll: true });
      const row = this.view.rowAt(y);
      if (row !== null && row.type === "path") {
        const segment = this.view.segmentAt(row.run, this.view.timeAt(x));
        if (segment !== undefined) this.view.setRange({ from: segment.start, to: segment.end });
        return;
      }
      this.view.select(this.view.sliceAt(x, y));
    });
    canvas.addEventListener("dblclick", (event) => {
      const box = canvas.getBoundingClientRect();
      const row = this.view.rowAt(event.clientY - box.top);
      if (row !== null && row.type === "group") this.view.toggleRow(row);
      else this.view.zoomToSlice();
    });
    canvas.addEventListener("pointerleave", () => { this.view.tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => { if (this.key(event)) event.preventDefault(); });
  }

  private moveMini(x: number): void {
    const [low, high] = this.view.miniSpan();
    const t = low + (x - this.view.labelWidth) / (this.view.cssWidth - this.view.labelWidth) * (high - low);
    const span = this.view.to - this.view.from;
    this.view.show(t - span / 2, t + span / 2);
  }

  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
      case "w": case "W": case "+": case "=": this.view.zoom(0.7, this.anchor()); return true;
      case "s": case "S": case "-": this.view.zoom(1 / 0.7, this.anchor()); return true;
      case "a": case "A": this.view.pan(-0.15); return true;
      case "d": case "D": this.view.pan(0.15); return true;
      case "ArrowLeft": this.view.step(-1); return true;
      case "ArrowRight": this.view.step(1); return true;
      case "ArrowUp": this.view.stepRow(-1); return true;
      case "ArrowDown": this.view.stepRow(1); return true;
      case "PageDown": this.view.scroll += this.view.cssHeight * 0.7; this.view.clampScroll(); this.view.redraw(); return true;
      case "PageUp": this.view.scroll -= this.view.cssHeight * 0.7; this.view.clampScroll(); this.view.redraw(); return true;
      case "Home": case "h": this.view.home(); return true;
      case "0": this.view.whole(); return true;
      case "Enter": case "f": this.view.zoomToSlice(); return true;
      case "m": case "M":
        if (this.view.selection !== null) {
          const { run, slice } = this.view.selection;
          this.view.setRange({ from: run.start[slice], to: run.endOf(slice) });
        } else {
          this.view.setRange({ from: this.view.from, to: this.view.to });
        }
        return true;
      case "z": if (this.view.range !== null) this.view.show(this.view.range.from, this.view.range.to); return true;
      case "p": this.view.showPath = !this.view.showPath; this.view.redraw(); return true;
      case "Escape": this.view.select(null); this.view.setRange(null); return true;
      default: return false;
    }
  }
  // Keys zoom about the selection if it is in sight.
  private anchor(): number {
    if (this.view.selection !== null) {
      const middle = this.view.selection.run.start[this.view.selection.slice] + this.view.selection.run.length[this.view.selection.slice] / 2;
      if (middle > this.view.from && middle < this.view.to) return middle;
    }
    return (this.view.from + this.view.to) / 2;
  }

  private hover(x: number, y: number): void {
    const row = this.view.rowAt(y);
    this.view.canvas.style.cursor = y < this.view.top && y > kMini * this.view.scale ? "col-resize" : "default";
    let text: string[] = [];
    if (row !== null && x > this.view.labelWidth) {
      const t = this.view.timeAt(x);
      if (row.type === "track") {
        const hit = this.view.sliceAt(x, y);
        if (hit !== null) { this.view.canvas.style.cursor = "pointer"; text = describe(hit.run, hit.slice); }
      } else if (row.type === "path") {
        const segment = this.view.segmentAt(row.run, t);
        if (segment !== undefined) {
          text = [`depends on ${segment.kind}${segment.name === "" ? "" : ` (${segment.name})`}`, time(segment.end - segment.start),
            segment.track < 0 ? "" : row.run.tracks[segment.track].path];
        }
      } else if (row.type === "counter" && row.counter !== null) {
        const per = (this.view.to - this.view.from) / (this.view.cssWidth - this.view.labelWidth);
        const values = valuesOf(row.run, row.counter, 1, t - per, 2 * per);
        if (values !== null) {
          text = [`${row.counter.name} at ${time(t)}`, ...row.counter.series.map((s, i) => `${s.name}: ${row.counter!.format(values[i][0])}`)];
          if (row.counter.peak > 0 && row.counter.peakName !== "always") text.push(`${row.counter.peakName}: ${row.counter.format(row.counter.peak)}`);
        }
      } else if (row.type === "group") {
        const per = (this.view.to - this.view.from) / (this.view.cssWidth - this.view.labelWidth);
        const share = busyShare(row.run, row.tracks, 1, t - per, 2 * per)[0];
        text = [row.label, `${percent(share)} busy at ${time(t)}`, "click the name to open"];
      } else if (row.type === "queue") {
        const queue = this.view.queues.get(row.run);
        if (queue !== undefined) {
          let i = queue.times.findIndex((q) => q > t) - 1;
          if (i === -2) i = queue.times.length - 1;
          text = [`${i < 0 ? 0 : queue.depth[i]} control blocks queued or running at ${time(t)}`];
        }
      }
    }
    this.view.tip.hidden = text.length === 0;
    if (text.length === 0) return;
    this.view.tip.textContent = text.filter((line) => line !== "").join("\n");
    const width = this.view.tip.offsetWidth, height = this.view.tip.offsetHeight;
    this.view.tip.style.left = `${Math.max(4, Math.min(x + 14, this.view.cssWidth - width - 6))}px`;
    this.view.tip.style.top = `${y + 18 + height > this.view.cssHeight ? y - height - 8 : y + 18}px`;
  }
}
