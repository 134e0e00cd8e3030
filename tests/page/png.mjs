// SPDX-License-Identifier: Apache-2.0
// A PNG of at most 256 colours: screenshots of a page are a third as large that way.
import { deflateSync } from "node:zlib";

const table = Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; ++bit) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

// The 256 colours that stand for `counts` (colour -> pixels): boxes of colours are cut in the middle of their longest side, those
// with the most pixels times length first.
function palette(counts) {
  const channel = (color, c) => (color >> (8 * c)) & 255;
  const boxOf = (colors) => {
    let longest = 0, side = -1, pixels = 0;
    for (let c = 0; c < 3; ++c) {
      let low = 255, high = 0;
      for (const color of colors) { low = Math.min(low, channel(color, c)); high = Math.max(high, channel(color, c)); }
      if (high - low > side) { side = high - low; longest = c; }
    }
    for (const color of colors) pixels += counts.get(color);
    return { colors, longest, side, weight: side * Math.sqrt(pixels) };
  };
  const boxes = [boxOf([...counts.keys()])];
  while (boxes.length < 256) {
    const most = boxes.reduce((a, b) => (b.weight > a.weight ? b : a));
    if (most.side <= 0) break;
    const sorted = [...most.colors].sort((a, b) => channel(a, most.longest) - channel(b, most.longest) || a - b);
    const low = channel(sorted[0], most.longest), middle = low + most.side / 2;
    const at = sorted.findIndex((color) => channel(color, most.longest) > middle);
    boxes.splice(boxes.indexOf(most), 1, boxOf(sorted.slice(0, at)), boxOf(sorted.slice(at)));
  }
  const index = new Map();
  const colors = boxes.map((box, i) => {
    // Its most frequent colour: large areas keep theirs.
    for (const color of box.colors) index.set(color, i);
    return box.colors.reduce((a, b) => (counts.get(b) > counts.get(a) ? b : a));
  });
  return { colors, index };
}

// pixels: Uint32Array, red in the low byte.
export function encodePng(pixels, width, height) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel & 0xffffff, (counts.get(pixel & 0xffffff) ?? 0) + 1);
  const { colors, index } = palette(counts);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) rows[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x] & 0xffffff);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(colors.flatMap((color) => [color & 255, (color >> 8) & 255, (color >> 16) & 255]));
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk("IHDR", head), chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
