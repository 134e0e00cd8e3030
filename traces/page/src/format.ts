// SPDX-License-Identifier: Apache-2.0
// Numbers as text, as the command line writes them (traces/text.h).

const timeUnits: [number, string][] = [
  [1, "ps"], [1e3, "ns"], [1e6, "us"], [1e9, "ms"], [1e12, "s"],
];

export function time(ps: number): string {
  const sign = ps < 0 ? "-" : "";
  const size = Math.abs(ps);
  let unit = timeUnits[0];
  for (const candidate of timeUnits) if (size >= candidate[0]) unit = candidate;
  return unit[0] === 1 ? `${sign}${Math.round(size)} ps` : `${sign}${(size / unit[0]).toFixed(3)} ${unit[1]}`;
}

// For an axis whose marks are `step` apart: as many digits as they need, the unit of the whole axis.
export function axisTime(ps: number, step: number, widest: number): string {
  let unit = timeUnits[0];
  for (const candidate of timeUnits) if (widest >= candidate[0]) unit = candidate;
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit[0]) + 1e-9));
  return `${(ps / unit[0]).toFixed(Math.min(digits, 6))} ${unit[1]}`;
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return `${unit === 0 ? Math.round(value) : value.toFixed(2)} ${units[unit]}`;
}

export const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`;

export function change(a: number, b: number): string {
  if (a === b) return "0.0 %";
  if (a === 0) return "new";
  return `${b >= a ? "+" : ""}${((b / a - 1) * 100).toFixed(1)} %`;
}

// 13.4 T, 995 G, 1.20 k
export function si(value: number): string {
  const units: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [scale, letter] of units) {
    if (Math.abs(value) >= scale) {
      const v = value / scale;
      return `${v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)} ${letter}`;
    }
  }
  return value >= 100 || Number.isInteger(value) ? `${Math.round(value)} ` : `${value.toFixed(2)} `;
}

export const count = (value: number): string => value.toLocaleString("en-US");
