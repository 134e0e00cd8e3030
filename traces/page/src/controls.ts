// SPDX-License-Identifier: Apache-2.0
// Search, filters, theme, help, and the keys that work everywhere.

import { app } from "./app";
import { css, currentTheme, unitColor } from "./colors";
import { byId, button, el } from "./dom";
import { count } from "./format";
import type { Input } from "./input";
import { showSections } from "./sections";
import { pathSelect, showPath, showRange } from "./side";
import type { Selection } from "./timeline";

let matches: Selection[] = [];
let current = -1;

function search(text: string): void {
  app.timeline.setSearch(text);
  matches = app.timeline.found();
  current = -1;
  byId("search-count").textContent = text.trim() === "" ? "" : matches.length === 0 ? "no match" : `${count(matches.length)} found`;
}
function nextMatch(by: number): void {
  if (matches.length === 0) return;
  current = (current + by + matches.length) % matches.length;
  if (by < 0 && current < 0) current = matches.length - 1;
  app.timeline.select(matches[current], true);
  byId("search-count").textContent = `${count(current + 1)} of ${count(matches.length)}`;
}

export function controls(input: Input): void {
  const box = byId("search") as HTMLInputElement;
  box.addEventListener("input", () => search(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { nextMatch(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { box.value = ""; search(""); app.timeline.canvas.focus(); }
  });
  byId("search-next").addEventListener("click", () => nextMatch(1));
  byId("search-previous").addEventListener("click", () => nextMatch(-1));
  const unit = byId("unit-filter") as HTMLInputElement;
  unit.addEventListener("input", () => app.timeline.setUnitFilter(unit.value));
  const theme = currentTheme();
  const categories = [...new Set(app.runs.flatMap((run) => run.kinds.map((k) => k.category)))];
  const order = ["host", "control", "step", "dma", "pcie", "memory", "ring", "core", "wait", "firmware"];
  categories.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  for (const category of categories) {
    const chip = button("", `Show or hide ${category}`, () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(shown));
      app.timeline.toggleCategory(category, shown);
    });
    chip.setAttribute("aria-pressed", "true");
    chip.dataset.category = category;
    const dot = el("i", category === "wait" ? { class: "hatched" } : { style: `background:${css(unitColor(category === "core" ? "pt" : category, theme))}` });
    chip.append(dot, category);
    byId("categories").append(chip);
  }
  (byId("grouping") as HTMLSelectElement).addEventListener("change", (event) => app.timeline.setGrouping((event.target as HTMLSelectElement).value as "unit" | "core"));
  for (const run of app.runs) {
    const select = el("select", { id: pathSelect(run) }) as HTMLSelectElement;
    select.append(el("option", { value: "all" }, "all kernels"), el("option", { value: "" }, "none"));
    for (const path of run.paths) select.append(el("option", { value: String(path.kernel) }, run.kernelOf(path).label));
    select.addEventListener("change", () => {
      app.timeline.setPath(run.index, select.value === "all" ? "all" : select.value === "" ? null : Number(select.value));
      showPath();
    });
    byId("path-of").append(el("label", {}, app.runs.length > 1 ? `Path of ${run.letter} ` : "Path of ", select), " ");
  }
  byId("launches").addEventListener("click", () => app.timeline.home());
  byId("whole").addEventListener("click", () => app.timeline.whole());
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = currentTheme().dark ? "light" : "dark";
    retheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  const help = byId("help") as HTMLDialogElement;
  byId("help-button").addEventListener("click", () => help.showModal());
  const keys: [string, string][] = [
    ["Ctrl + wheel, W S", "zoom at the pointer, about the selection"], ["drag, A D, Shift + wheel", "move along the time"],
    ["wheel, Page up, Page down", "move through the rows"], ["drag on the axis, Shift + drag", "choose a range"],
    ["arrow keys", "select the next slice, or the next unit"], ["Enter, F or double click", "zoom to the selection"],
    ["M, Z", "take the selection as range, zoom to the range"], ["/ N Shift+N", "search, next and previous match"],
    ["H or Home, 0", "the launches, the whole run"], ["P", "critical path on or off"], ["Esc", "clear"],
  ];
  const list = el("dl", { class: "facts" });
  for (const [key, what] of keys) list.append(el("dt", {}, el("kbd", {}, key)), el("dd", {}, what));
  byId("help-text").append(el("h2", {}, "Keys and mouse"), list);
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea, dialog[open]") !== null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { box.focus(); box.select(); event.preventDefault(); return; }
    if (event.key === "?") { help.showModal(); return; }
    if (event.key === "n") { nextMatch(1); return; }
    if (event.key === "N") { nextMatch(-1); return; }
    // From anywhere but a control: the keys of the timeline that do not scroll the page.
    if (target === document.body && !event.key.startsWith("Arrow") && !event.key.startsWith("Page") && event.key !== "Home" && input.key(event)) event.preventDefault();
  });
}

function retheme(): void {
  app.timeline.themeChanged();
  showPath();
  showRange(app.timeline.range);
  for (const chip of document.querySelectorAll<HTMLElement>("#categories button")) {
    const category = chip.dataset.category!;
    if (category !== "wait") chip.querySelector("i")!.style.background = css(unitColor(category === "core" ? "pt" : category, currentTheme()));
  }
  if (app.runs.every((run) => run.loaded === run.count)) void showSections();
}
