// SPDX-License-Identifier: Apache-2.0
// Names of the rows, as elements: a tree for screen readers and keys.

import { css } from "./colors";
import { seriesColor } from "./counters";
import type { Row } from "./rows";
import type { Timeline } from "./timeline";

export function placeLabels(view: Timeline, rows: Row[]): void {
  const key = `${view.scroll} ${view.cssHeight} ${view.labelWidth} ${view.scale} ${view.theme.dark} ${rows.map((r) => r.id + r.open).join()}`;
  if (key === view.labelsKey) return;
  view.labelsKey = key;
  view.labels.style.width = `${view.labelWidth}px`;
  view.labels.style.top = `${view.top}px`;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined;
  view.labels.replaceChildren(...rows.map((row) => {
    const element = document.createElement("div");
    element.className = `label ${row.type}`;
    element.dataset.row = row.id;
    element.style.top = `${view.rowTop(row) - view.top}px`;
    element.style.height = `${row.height}px`;
    element.style.lineHeight = `${Math.min(row.height, 30 * view.scale)}px`;
    element.style.paddingLeft = `${(6 + row.depth * 14) * view.scale}px`;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", String(row.depth + 1));
    element.tabIndex = row.open === null ? -1 : 0;
    if (row.open !== null) {
      element.setAttribute("aria-expanded", String(row.open));
      const arrow = document.createElement("span");
      arrow.className = "arrow";
      arrow.textContent = row.open ? "\u25be" : "\u25b8";
      arrow.ariaHidden = "true";
      element.append(arrow);
      element.addEventListener("click", () => view.toggleRow(row));
      element.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { view.toggleRow(row); event.preventDefault(); event.stopPropagation(); }
      });
    }
    const name = document.createElement("span");
    name.textContent = row.label;
    element.append(name);
    if (row.note !== "") {
      const note = document.createElement("small");
      note.textContent = ` ${row.note}`;
      element.append(note);
    }
    if (row.counter !== null) {
      element.title = row.counter.what;
      if (row.counter.series.length > 1) {
        const legend = document.createElement("small");
        legend.className = "legend";
        for (const s of row.counter.series) {
          const dot = document.createElement("i");
          dot.style.background = css(seriesColor(s, view.theme));
          legend.append(dot, s.name);
        }
        element.append(legend);
      }
    }
    return element;
  }));
  if (focused !== undefined) {
    for (const element of view.labels.children) {
      if ((element as HTMLElement).dataset.row === focused) (element as HTMLElement).focus({ preventScroll: true });
    }
  }
}
