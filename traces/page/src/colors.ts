// SPDX-License-Identifier: Apache-2.0
// Colours of categories and units, for both themes. A slice has the hue of its unit; names of one
// unit differ in lightness, so that neighbours can be told apart and a unit is known at a glance.

import type { Kind, Track } from "./run";

export type Rgb = [number, number, number];
export interface Theme {
  dark: boolean;
  back: Rgb; panel: Rgb; line: Rgb; text: string; dim: string; accent: string; wait: Rgb; waitLine: Rgb;
}

const hues: Record<string, [number, number]> = { // hue, saturation
  host: [38, 78], control: [232, 52], step: [262, 45], dma: [330, 55], pcie: [190, 60],
  memory: [205, 62], ring: [172, 48], firmware: [15, 50],
  load: [212, 66], store: [24, 82], pt: [140, 46], vector: [278, 48], core: [140, 30],
};

export function hueOf(track: Track, category: string): string {
  if (category === "core" || category === "wait") return track.name in hues ? track.name : "core";
  return category;
}

export function toRgb(hue: number, saturation: number, lightness: number): Rgb {
  const s = saturation / 100, l = lightness / 100;
  const channel = (n: number): number => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

export const css = (c: Rgb): string => `rgb(${c[0]} ${c[1]} ${c[2]})`;
export const mix = (a: Rgb, b: Rgb, share: number): Rgb => [
  Math.round(a[0] + (b[0] - a[0]) * share),
  Math.round(a[1] + (b[1] - a[1]) * share),
  Math.round(a[2] + (b[2] - a[2]) * share),
];
// pixel(mix(a, b, share)) without making anything: it is called for every pixel.
export const blend = (a: Rgb, b: Rgb, share: number): number => {
  const red = a[0] + (b[0] - a[0]) * share, green = a[1] + (b[1] - a[1]) * share, blue = a[2] + (b[2] - a[2]) * share;
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
};
export const pixel = (c: Rgb): number => ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0;

export function unitColor(unit: string, theme: Theme, step = 0): Rgb {
  const [hue, saturation] = hues[unit] ?? [210, 10];
  return toRgb((hue + step * 6 + 360) % 360, saturation, (theme.dark ? 62 : 64) + step * 3);
}

// The colour of a kind on a track of that unit.
export function kindColor(kind: Kind, unit: string, theme: Theme): Rgb {
  let hash = 7;
  for (let i = 0; i < kind.name.length; ++i) hash = (hash * 31 + kind.name.charCodeAt(i)) | 0;
  const step = ((hash >>> 3) % 5) - 2;
  return unitColor(unit, theme, step);
}

// Causes of a critical path: units have their colour, the others a neutral one.
export function causeColor(cause: string, theme: Theme): Rgb {
  if (cause in hues) return unitColor(cause, theme);
  const others: Record<string, number> = { launch: 50, sequencer: 320, "token hand-over": 0 };
  return cause in others ? toRgb(others[cause], 35, theme.dark ? 62 : 58) : toRgb(210, 6, theme.dark ? 45 : 70);
}

const light: Theme = {
  dark: false, back: [255, 255, 255], panel: [246, 248, 250], line: [226, 231, 237],
  text: "#1b2330", dim: "#5c6877", accent: "#1f5fbf", wait: [222, 225, 230], waitLine: [186, 192, 200],
};
const dark: Theme = {
  dark: true, back: [17, 20, 26], panel: [25, 30, 38], line: [42, 49, 60],
  text: "#e3e9f1", dim: "#98a4b3", accent: "#7db0ff", wait: [44, 49, 57], waitLine: [84, 91, 102],
};

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  return isDark ? dark : light;
}
