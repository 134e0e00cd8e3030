// SPDX-License-Identifier: Apache-2.0
// Tables that sort by any column and go to the clipboard as CSV, in the order and with the full
// numbers that they have.

import { button, el } from "./dom";

export interface Column<T> {
  name: string;
  title?: string;
  value: (row: T) => number | string | null; // sorts and goes into CSV
  text?: (row: T) => string | Node;           // shown; default: the value
}
export interface TableOptions<T> {
  id: string;
  caption: string;
  columns: Column<T>[];
  rows: T[];
  sort?: number;       // column
  descending?: boolean;
  limit?: number;      // rows shown before a button shows all
  pick?: (row: T) => void;
  label?: (row: T) => string; // of what picking does
}

export function csvOf<T>(columns: Column<T>[], rows: T[]): string {
  const cell = (value: number | string | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map((c) => cell(c.name)), ...rows.map((row) => columns.map((c) => cell(c.value(row))))]
    .map((cells) => cells.join(",")).join("\n") + "\n";
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { style: "position:fixed;opacity:0" }) as HTMLTextAreaElement;
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function table<T>(options: TableOptions<T>): HTMLElement {
  let sort = options.sort ?? -1;
  let descending = options.descending ?? true;
  let shown = options.limit ?? 25;
  const body = el("tbody");
  const heads: HTMLElement[] = [];
  const sorted = (): T[] => {
    if (sort < 0) return options.rows;
    const value = options.columns[sort].value;
    const sign = descending ? -1 : 1;
    return options.rows.map((row, i) => ({ row, i, key: value(row) })).sort((a, b) => {
      if (a.key === null || b.key === null) return a.key === b.key ? a.i - b.i : a.key === null ? 1 : -1;
      const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key
        : String(a.key).localeCompare(String(b.key), "en", { numeric: true });
      return sign * order || a.i - b.i;
    }).map((entry) => entry.row);
  };
  const more = button("", "Show all rows", () => { shown = Infinity; fill(); });
  more.className = "more";
  const fill = (): void => {
    const rows = sorted();
    body.replaceChildren(...rows.slice(0, shown).map((row) => {
      const tr = el("tr");
      options.columns.forEach((column, i) => {
        const value = column.value(row);
        const content = column.text?.(row) ?? (value === null ? "" : String(value));
        const cell = el(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {});
        if (typeof value === "number" || value === null) cell.className = "number";
        if (i === 0 && options.pick !== undefined) {
          const link = button(typeof content === "string" ? content : "", options.label?.(row) ?? "Show in the timeline", () => options.pick!(row));
          link.className = "link";
          if (typeof content !== "string") link.append(content);
          cell.append(link);
        } else {
          cell.append(content);
        }
        tr.append(cell);
      });
      return tr;
    }));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== sort ? "none" : descending ? "descending" : "ascending"));
    more.hidden = rows.length <= shown;
    more.textContent = `Show all ${rows.length} rows`;
  };
  const head = el("tr");
  options.columns.forEach((column, i) => {
    const th = el("th", { scope: "col" });
    const sorter = button(column.name, column.title ?? `Sort by ${column.name}`, () => {
      descending = sort === i ? !descending : typeof options.columns[i].value(options.rows[0]) !== "string";
      sort = i;
      fill();
    });
    th.append(sorter);
    if (options.rows.length > 0 && typeof column.value(options.rows[0]) !== "string") th.className = "number";
    heads.push(th);
    head.append(th);
  });
  const copy = button("Copy CSV", `Copy the table "${options.caption}" as comma-separated values`, async () => {
    const done = await copyText(csvOf(options.columns, sorted()));
    copy.textContent = done ? "Copied" : "The browser refused";
    setTimeout(() => { copy.textContent = "Copy CSV"; }, 1500);
  });
  copy.className = "copy";
  fill();
  return el("section", { class: "card table", id: options.id, "aria-label": options.caption },
    el("div", { class: "card-head" }, el("h3", {}, options.caption), el("span", { class: "dim" }, `${options.rows.length}`), copy),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption },
      el("table", {}, el("thead", {}, head), body)), more);
}
