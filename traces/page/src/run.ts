// SPDX-License-Identifier: Apache-2.0
// One run as the page holds it. The layout of what is read is in traces/report_slices.h and
// traces/report_levels.h. Times are picoseconds since the first launch of the run.

export interface Kind { name: string; category: string }
export interface Track {
  index: number;
  process: string;
  name: string;
  path: string; // "core 03/pt"
  unit: string; // of whom it is one of several: "core */pt", "memory/channel *"
  lanes: number;
  first: number; // index of its first slice
  slices: number;
  level: Level | null;
}
export interface Kernel {
  number: number; name: string; label: string; flow: number; start: number; end: number;
  track: number; // of its control block, -1: not in the trace
  macs: number;  // 0: not known
  boundBy: string;
  program: string; // whose buffers in LX are known; "": none
  part: string; // which part of a launch it is, "tile 1 of 4, m=1024..2047"; "": the whole
}
export interface PathSegment { kind: string; track: number; name: string; start: number; end: number }
export interface PathShare {
  kind: string; segments: number; time_ps: number; memory_busy: number | null; pt_busy: number | null;
}
export interface Path { kernel: number; segments: PathSegment[]; shares: PathShare[]; complete: boolean }

// Per bin: share of busy and of waiting time (0 to 255), and the kind of most of it (0xffff: none).
export interface Bins { size: number; busy: Uint8Array; wait: Uint8Array; kind: Uint16Array }
export interface Level { from: number; to: number; bins: Bins[] } // finest first

/* eslint-disable @typescript-eslint/no-explicit-any */
export type Json = any;

const noKind = 0xffff;

async function unpack(id: string): Promise<Uint8Array> {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no part "${id}"`);
  const text = element.textContent ?? "";
  element.remove(); // its memory is needed elsewhere
  const modern = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  let packed: Uint8Array<ArrayBuffer>;
  if (modern.fromBase64 !== undefined) {
    packed = modern.fromBase64(text);
  } else {
    const characters = atob(text);
    packed = new Uint8Array(characters.length);
    for (let i = 0; i < characters.length; ++i) packed[i] = characters.charCodeAt(i);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const withoutNumber = (name: string): string => name.replace(/(?<=\D)\d+$/, "*");

function coarser(bins: Bins): Bins {
  const size = bins.size / 2;
  const out: Bins = {
    size, busy: new Uint8Array(size), wait: new Uint8Array(size), kind: new Uint16Array(size),
  };
  for (let i = 0; i < size; ++i) {
    const a = 2 * i, b = a + 1;
    out.busy[i] = (bins.busy[a] + bins.busy[b] + 1) >> 1;
    out.wait[i] = (bins.wait[a] + bins.wait[b] + 1) >> 1;
    out.kind[i] = bins.kind[a] === noKind || (bins.kind[b] !== noKind && bins.busy[b] > bins.busy[a])
      ? bins.kind[b] : bins.kind[a];
  }
  return out;
}

export class Run {
  readonly head: Json;
  readonly tracks: Track[] = [];
  readonly kinds: Kind[];
  readonly names: string[];
  readonly kernels: Kernel[] = [];
  readonly paths: Path[] = [];
  readonly count: number; // of slices
  readonly begin: number; // of what the page holds, 0 or less
  readonly end: number;
  readonly launchEnd: number;
  readonly zero: number; // absolute time of the first launch
  // The slices, as columns; those before `loaded` have arrived.
  readonly start: Float64Array;
  readonly length: Float64Array;
  readonly reach: Float64Array; // latest end of this and all slices of the track before it
  readonly kind: Uint32Array;
  readonly flow: Float64Array;
  readonly bytes: Float64Array;
  readonly detail: Uint32Array;
  readonly lane: Uint8Array;
  readonly stands: Uint32Array; // for how many
  readonly isWait: Uint8Array; // by kind
  loaded = 0;
  private trackOfBlock = 0; // where the next block goes on

  private constructor(readonly index: number, readonly letter: string, head: Json, levels: Uint8Array) {
    this.head = head;
    this.kinds = head.kinds.map((k: Json) => ({ name: head.names[k.name], category: k.category }));
    this.names = head.names;
    this.isWait = Uint8Array.from(this.kinds, (kind) => (kind.category === "wait" ? 1 : 0));
    this.count = head.slices;
    this.zero = head.launch[0];
    this.begin = head.begin_ps - this.zero;
    this.end = Math.max(head.end_ps - this.zero, this.begin + 1);
    this.launchEnd = Math.max(head.launch[1] - this.zero, 1);
    let first = 0;
    for (const t of head.tracks) {
      this.tracks.push({
        index: this.tracks.length, process: t.process, name: t.name, path: `${t.process}/${t.name}`,
        unit: `${withoutNumber(t.process)}/${withoutNumber(t.name)}`,
        lanes: t.lanes, first, slices: t.slices, level: null,
      });
      first += t.slices;
    }
    this.readLevels(levels);
    this.readKernels();
    const n = this.count;
    this.start = new Float64Array(n);
    this.length = new Float64Array(n);
    this.reach = new Float64Array(n);
    this.kind = new Uint32Array(n);
    this.flow = new Float64Array(n);
    this.bytes = new Float64Array(n);
    this.detail = new Uint32Array(n);
    this.lane = new Uint8Array(n);
    this.stands = new Uint32Array(n);
  }

  static async open(index: number, letter: string): Promise<Run> {
    const head = JSON.parse(new TextDecoder().decode(await unpack(`run-${index}-head`)));
    return new Run(index, letter, head, await unpack(`run-${index}-levels`));
  }

  // Unpacks the slices, a block at a time; `pause` lets the page do other things between them.
  async load(pause: () => Promise<void>): Promise<void> {
    for (let block = 0; block < this.head.blocks; ++block) {
      const bytes = await unpack(`run-${this.index}-slices-${block}`);
      await pause();
      this.decode(bytes);
      await pause();
    }
  }

  get title(): string { return this.head.title; }
  get card(): Json { return this.head.summary.metadata?.config?.card ?? null; }
  get report(): Json { return this.head.report; }
  hasAll(track: Track): boolean { return track.first + track.slices <= this.loaded; }
  kindOf(slice: number): Kind { return this.kinds[this.kind[slice]]; }
  kernelOf(path: Path): Kernel { return this.kernels.find((k) => k.number === path.kernel)!; }
  endOf(slice: number): number { return this.start[slice] + this.length[slice]; }

  trackOf(slice: number): Track {
    let low = 0, high = this.tracks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tracks[middle].first <= slice) low = middle; else high = middle - 1;
    }
    while (this.tracks[low].slices === 0 && low > 0) --low;
    return this.tracks[low];
  }

  // Slices [from, to) of the track include all that touch the time from t0 to t1.
  between(track: Track, t0: number, t1: number): [number, number] {
    const begin = track.first, end = Math.min(track.first + track.slices, this.loaded);
    if (end <= begin) return [begin, begin];
    let low = begin, high = end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.reach[middle] >= t0) high = middle; else low = middle + 1;
    }
    const from = low;
    high = end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] <= t1) low = middle + 1; else high = middle;
    }
    return [from, low];
  }

  private decode(block: Uint8Array): void {
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    const base = this.loaded;
    const n = Math.min(this.head.block_slices, this.count - base);
    let at = 0;
    const column = (take: (i: number, value: number) => void): void => {
      let p = at + 4;
      at = p + view.getUint32(at, true);
      for (let i = 0; i < n; ++i) {
        let byte = block[p++];
        let value = byte & 127;
        for (let scale = 128; byte >= 128; scale *= 128) {
          byte = block[p++];
          value += (byte & 127) * scale;
        }
        take(base + i, value);
      }
    };
    const { start, length, reach, kind, flow, bytes, detail, lane, stands, zero } = this;
    // Differences start anew with a track and with a block.
    let track = this.trackOfBlock;
    let left = 0;
    const next = (i: number): void => {
      while (this.tracks[track].first + this.tracks[track].slices <= i) ++track;
      left = this.tracks[track].first + this.tracks[track].slices - i;
    };
    let now = 0;
    column((i, value) => {
      if (left === 0) { next(i); now = 0; }
      --left;
      now += value;
      start[i] = now - zero;
    });
    column((i, value) => { length[i] = value; });
    column((i, value) => { kind[i] = value; });
    let last = 0;
    column((i, value) => {
      last += value % 2 === 1 ? -(value + 1) / 2 : value / 2;
      flow[i] = last;
    });
    column((i, value) => { bytes[i] = value; });
    column((i, value) => { detail[i] = value; });
    column((i, value) => { lane[i] = value; });
    column((i, value) => { stands[i] = value; });
    track = this.trackOfBlock;
    left = 0;
    for (let i = base; i < base + n; ++i) {
      if (left === 0) next(i);
      --left;
      const end = start[i] + length[i];
      reach[i] = i > this.tracks[track].first ? Math.max(end, reach[i - 1]) : end;
    }
    this.trackOfBlock = track;
    this.loaded = base + n;
  }

  private readLevels(bytes: Uint8Array): void {
    const { bins, from_ps, to_ps, tracks } = this.head.levels;
    let at = 0;
    for (const index of tracks) {
      const busy = bytes.slice(at, at + bins);
      const wait = bytes.slice(at + bins, at + 2 * bins);
      const kind = new Uint16Array(bins);
      for (let i = 0, p = at + 2 * bins; i < bins; ++i, p += 2) kind[i] = bytes[p] | (bytes[p + 1] << 8);
      at += 4 * bins;
      const all: Bins[] = [{ size: bins, busy, wait, kind }];
      while (all[all.length - 1].size > 64) all.push(coarser(all[all.length - 1]));
      this.tracks[index].level = { from: from_ps - this.zero, to: to_ps - this.zero, bins: all };
    }
  }

  private readKernels(): void {
    const listed = new Map<number, Json>(); // by start
    for (const kernel of this.report?.kernels ?? []) listed.set(Math.round(kernel.start_ns * 1e3), kernel);
    for (const k of this.head.kernels) {
      const more = listed.get(k.start_ps);
      this.kernels.push({
        number: k.number, name: k.name, flow: k.flow,
        label: [`#${k.number} ${k.program !== "" ? k.program : k.name.replace(/^COMPUTE /, "")}`, ...[k.label, more?.task].filter((part) => part)].join(", "),
        start: k.start_ps - this.zero, end: k.end_ps - this.zero, track: -1,
        macs: more?.macs ?? k.macs ?? 0, boundBy: more?.roofline?.bound_by ?? "",
        part: k.label, program: k.program,
      });
    }
    for (const p of this.head.paths) {
      const segments: PathSegment[] = [];
      const s: number[] = p.segments;
      for (let i = 0; i < s.length; i += 5) {
        const start = s[i + 3] - this.zero;
        segments.push({
          kind: p.kinds[s[i]], track: s[i + 1], name: s[i + 2] < 0 ? "" : this.names[s[i + 2]],
          start, end: start + s[i + 4],
        });
      }
      this.paths.push({
        kernel: p.kernel, segments, shares: p.shares,
        complete: p.all_segments === segments.length && p.recorded_from_ps === 0,
      });
    }
  }
}
