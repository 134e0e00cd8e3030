// SPDX-License-Identifier: Apache-2.0
#include "model/formula/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/formula/rates.h"
#include "model/formula/requests.h"

namespace spyre::model {
namespace {

constexpr double kElementBytes = 2;
constexpr double kStickBytes = 128;
constexpr uint64_t kStickElements = 64;
constexpr double kBlock =
    kStickElements;                       // rows and columns of a weight block, elements of a stick
constexpr uint64_t kCoresOfOneSide = 16;  // cores 0 to 15 lie on one side of the ring
constexpr double kLongRunBytes = 1024;    // contiguous runs from here on lose nothing
constexpr double kRowsWithoutLoss = 64;   // of a core, in a reduction

uint64_t Up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit; }

// Two things that overlap, and less well where they take as long as each other.
double Overlapped(double a, double b, uint64_t permille) {
  const double larger = std::max(a, b);
  if (larger == 0) return 0;
  const double exponent = Number(permille) / 1000;
  return larger *
         std::pow(std::pow(a / larger, exponent) + std::pow(b / larger, exponent), 1 / exponent);
}

// Weight blocks of a chunk, each loaded while the array stands, and rows that stream past each.
double ChunkNs(const MatmulWork& work, double chunk, const CardParameters& card,
               const Rates& rates) {
  double rows = Number(work.tile_m);
  double blocks = Number(work.tile_n) / kBlock;
  if (work.corelets == CoreletUse::kSameWeights) rows /= 2;
  if (work.corelets == CoreletUse::kOwnWeights) blocks /= 2;
  const uint64_t load = work.corelets == CoreletUse::kOwnWeights
                            ? card.core.pt_block_load_split_cycles
                            : card.core.pt_block_load_cycles;
  const double macs_of_a_row = kBlock * kBlock;
  const double row_cycles = macs_of_a_row / Number(card.core.pt_macs_per_cycle);
  return blocks * chunk / kBlock * (row_cycles * rows + Number(load)) * rates.cycle_ns;
}

struct Load {
  double ns = 0;
  FormulaBound bound = FormulaBound::kMemory;

  void AtLeast(double other_ns, FormulaBound other) {
    if (other_ns <= ns) return;
    ns = other_ns;
    bound = other;
  }
};

struct ChunkLoad : Load {
  double memory_ns = 0;  // of both operands
};

// An operand's chunk, as all cores load it. A multicast counts once.
struct ChunkPart {
  // filled: the part of the chunks' sticks that is there, where not all cores have as many.
  ChunkPart(double bytes_of_core, double filled, const MemoryRuns& runs, uint64_t sharers,
            uint64_t hops, double memory_rate, const MatmulWork& work, const CardParameters& card,
            const Rates& rates)
      : requests(RequestsFor(bytes_of_core, runs, card)) {
    const double groups = filled * Number(work.cores() / sharers);
    bytes = groups * bytes_of_core;
    memory_ns = bytes / memory_rate;
    const LoadGroup group{sharers, hops, work.cores()};
    latency_ns = LoadLatencyNs(requests, group, card, rates);
    stream_ns = LoadsNs(requests, group, latency_ns, card, rates);
    stop_ns = requests.count * groups * requests.stop_ns;
    if (sharers == 1 && work.cores() > 1 && work.cores() <= kCoresOfOneSide) {
      half_ring_ns = bytes / rates.half_ring;
    }
  }
  // What limits these loads most if the other operand's come before or behind them. others_ns: that
  // memory is busy with others meanwhile.
  Load Alone(double others_ns) const {
    Load load;
    load.ns = memory_ns;
    load.AtLeast(StreamNs(others_ns), FormulaBound::kStream);
    load.AtLeast(half_ring_ns, FormulaBound::kHalfRing);
    load.AtLeast(stop_ns, FormulaBound::kMulticastStop);
    return load;
  }
  double StreamNs(double others_ns) const {
    return LoadsOfBusyMemoryNs(requests, stream_ns, memory_ns + others_ns);
  }
  double BusyNs(double others_ns) const { return std::max(stop_ns, StreamNs(others_ns)); }
  // Of it, the time in which the first requests of the other operand, behind these, are on their
  // way.
  double HiddenNs(const ChunkPart& other) const {
    return std::min(std::max(0.0, stop_ns - stream_ns), other.latency_ns);
  }
  Requests requests;
  double bytes, memory_ns;
  double stream_ns;   // of the requests in flight of a core or of a group
  double latency_ns;  // of one of them
  double half_ring_ns = 0;
  double stop_ns = 0;  // of the memory stop, which takes one request after the other
};

// What brings a chunk of both operands to all cores. A core asks for one operand after the other.
// Whole bursts of both overlap nevertheless, as measured kernels show. stores_ns: that memory is
// busy with results at the same time.
ChunkLoad LoadOfChunk(const ChunkPart& a, const ChunkPart& b, bool strided, double stores_ns) {
  ChunkLoad load;
  load.ns = load.memory_ns = a.memory_ns + b.memory_ns;
  if (strided && b.bytes > a.bytes) load.bound = FormulaBound::kStridedMemory;
  if (a.half_ring_ns > 0) load.AtLeast(a.half_ring_ns + b.memory_ns, FormulaBound::kHalfRing);
  if (b.half_ring_ns > 0) load.AtLeast(a.memory_ns + b.half_ring_ns, FormulaBound::kHalfRing);
  load.AtLeast(a.stop_ns + b.stop_ns, FormulaBound::kMulticastStop);
  const double both_ns = a.stream_ns + b.stream_ns;
  const double of_a = both_ns == 0 ? 0 : stores_ns * a.stream_ns / both_ns;
  const double of_b = both_ns == 0 ? 0 : stores_ns - of_a;
  const Load a_alone = a.Alone(of_a), b_alone = b.Alone(of_b);
  const double whole = std::max(a.requests.whole(), b.requests.whole());
  const double both_busy_ns = a.BusyNs(of_a) + b.BusyNs(of_b) - a.HiddenNs(b) - b.HiddenNs(a);
  load.AtLeast(whole * both_busy_ns + (1 - whole) * (a_alone.ns + b_alone.ns),
               a_alone.ns > b_alone.ns ? a_alone.bound : b_alone.bound);
  return load;
}

// The chunks of all tiles, each loaded while the one before is computed, but for the first one.
// What is left of k behind whole chunks is computed while the first chunk of the next tile is
// loaded, which may take longer.
double TilesNs(double tiles, double array, double load, double whole, double rest) {
  const double longer = std::max(array, load);
  if (rest == 0) return load + (tiles * whole - 1) * longer + array;
  return load + tiles * ((whole - 1) * longer + std::max(array, rest * load)) +
         (tiles - 1) * std::max(rest * array, load) + rest * array;
}

KernelTime TimeOf(const MatmulWork& work, const CardParameters& card) {
  const Rates rates(card);
  // Of a core; sticks are not divided.
  const uint64_t m_part = Up(work.m, work.m_parts);
  const uint64_t n_part = Up(Up(work.n, kStickElements), work.n_parts) * kStickElements;
  const uint64_t k = Up(Up(work.k, kStickElements), work.k_parts);
  const uint64_t chunk_sticks = work.chunk_sticks();
  const double chunk = Number(chunk_sticks) * kBlock;
  const double chunks = Number(k) / Number(chunk_sticks);
  const uint64_t batch_part = Up(work.batch, work.batch_parts);
  const uint64_t outer_part = Up(work.outer, work.outer_parts);
  const uint64_t inner_part = Up(work.inner, work.inner_parts);
  const uint64_t m_tiles = Up(m_part, work.tile_m), n_tiles = Up(n_part, work.tile_n);
  const double tiles = Number(batch_part * outer_part * inner_part * m_tiles * n_tiles);
  const double filled = Number(work.batch * work.outer * work.inner) /
                        Number(work.batch_parts * batch_part * work.outer_parts * outer_part *
                               work.inner_parts * inner_part);
  const double m_filled = filled * Number(work.m) / Number(work.m_parts * m_tiles * work.tile_m);
  const double n_filled = filled * Number(Up(work.n, kStickElements) * kStickElements) /
                          Number(work.n_parts * n_tiles * work.tile_n);
  const double row_bytes = chunk * kElementBytes;
  // Weights that go to one core each, from regions that lie powers of two apart.
  const bool strided = work.b_sharers() == 1 && work.cores() > kCoresOfOneSide;
  const ChunkPart a(work.a_in_lx ? 0 : row_bytes * Number(work.tile_m), m_filled, work.a_runs,
                    work.a_sharers(), work.a_hops, rates.read, work, card, rates);
  const ChunkPart b(work.b_in_lx ? 0 : row_bytes * Number(work.tile_n), n_filled, work.b_runs,
                    work.b_sharers(), work.b_hops, strided ? rates.strided_read : rates.read, work,
                    card, rates);

  const double out_bytes = work.out_in_lx ? 0 : Number(work.tile_m * work.tile_n) * kElementBytes;
  // The last core of those that divide k has the sum.
  const double storing = m_filled * n_filled / filled * Number(work.cores() / work.k_parts);
  const Requests out = RequestsFor(out_bytes, work.out_runs, card);
  const double written = storing * out_bytes;
  const double read = (a.bytes + b.bytes) * chunks;
  const double store = written / rates.write + storing * PartialWritesNs(out, card);
  const double turned = store + rates.TurnaroundNs(read, written);

  const double array = ChunkNs(work, chunk, card, rates);
  const ChunkLoad load = LoadOfChunk(a, b, strided, turned / chunks);
  const double tiles_ns = TilesNs(tiles, array, load.ns, Number(k / chunk_sticks),
                                  Number(k % chunk_sticks) / Number(chunk_sticks));
  // A tile's store stands in the queue between the first chunk of the next tile, which is there
  // already, and the second, which the array then waits for.
  const double waits = std::min(turned, std::max(0.0, turned + load.ns - array));
  // What memory does of it while loads wait for something else costs nothing.
  const double idle = chunks * (load.ns - load.memory_ns);
  // A core has few stores under way, and stores a tile while it works on the next one.
  const double of_core = StoresNs(out, work.cores(), card, rates);
  const double tile_ns = chunks * std::max(array, load.ns);
  const double gap = std::max({0.0, waits - idle, of_core - tile_ns});

  KernelTime time;
  time.start_ns = Number(card.fast.start_ns);
  time.array_ns = tiles * chunks * array;
  time.load_ns = tiles * chunks * load.ns;
  time.store_ns = tiles * store;
  time.exposed_store_ns = (tiles - 1) * gap + std::max(store, of_core);
  time.ns = time.start_ns + tiles_ns + time.exposed_store_ns;
  time.bound = array >= load.ns ? FormulaBound::kArray : load.bound;
  if (time.start_ns > time.ns / 2) time.bound = FormulaBound::kStart;
  time.macs = work.batch * work.outer * work.inner * work.m * work.k * work.n;
  time.bytes_read = static_cast<uint64_t>(std::llround(tiles * read));
  time.bytes_written = static_cast<uint64_t>(std::llround(tiles * written));
  return time;
}

double LoopCycles(VectorLoop loop, const CardParameters& card) {
  const CoreConfig& core = card.core;
  const std::array<uint64_t, 7> centicycles = {0,
                                               core.vector_loop_unary_centicycles,
                                               core.vector_loop_function_centicycles,
                                               core.vector_loop_binary_centicycles,
                                               core.vector_loop_constant_centicycles,
                                               core.vector_loop_broadcast_centicycles,
                                               core.vector_loop_reduce_centicycles};
  return Number(centicycles[static_cast<size_t>(loop)]) / 100;
}

// Short runs use a part of each request only.
double RunEfficiency(const VectorWork& work, const CardParameters& card) {
  const double run = Number(work.run_bytes);
  if (run == 0 || run >= kLongRunBytes) return 1;
  const double lost = Number(card.fast.short_run_bytes);
  return run / (run + lost) * (kLongRunBytes + lost) / kLongRunBytes;
}

// The results of a row reduction are sticks that are written one by one: memory reads old check
// bytes for each, and a core has few of them on their way.
void TimeOfReduction(const VectorWork& work, const CardParameters& card, const Rates& rates,
                     KernelTime& time) {
  const double sticks = Number(work.bytes_written) / kStickBytes;
  const double memory_ns = sticks * Number(card.fast.single_stick_ps) / 1000;
  const double of_core_ns =
      sticks == 0 ? 0 : work.rows_per_core * Number(card.fast.single_stick_core_ns);
  time.load_ns = Number(work.bytes_read) / rates.half_ring_reduce;
  time.bound = FormulaBound::kHalfRing;
  double from_memory_ns = Number(work.bytes_read) / rates.read + memory_ns;
  if (work.cores > kCoresOfOneSide) {
    const double doublings = std::max(0.0, std::log2(work.rows_per_core / kRowsWithoutLoss));
    const double left = 1 - Number(card.fast.reduce_rows_permille) / 1000 * doublings;
    from_memory_ns = Number(work.bytes_read) / (rates.read * std::max(0.1, left)) + memory_ns;
    time.load_ns = 0;
  }
  if (from_memory_ns >= time.load_ns) {
    time.load_ns = from_memory_ns;
    time.bound = FormulaBound::kMemory;
  }
  time.loop_ns = std::max(time.loop_ns, of_core_ns);
  time.ns += Overlapped(time.load_ns, time.loop_ns, card.fast.overlap_permille);
}

// Sticks of a loop of the streams that card.core.vector_loop_* were measured with.
double StreamSticks(VectorLoop loop) {
  const bool wide = loop == VectorLoop::kConstant || loop == VectorLoop::kBroadcast ||
                    loop == VectorLoop::kReduce;
  return wide ? 128 : 64;
}

// One loop over sticks that are in LX: its start counts once, not for every tile of a stream.
double LongLoopCycles(VectorLoop loop, double sticks, const CardParameters& card) {
  const double start = Number(card.core.vector_loop_start_percent) / 100;
  return LoopCycles(loop, card) * (start * StreamSticks(loop) + (1 - start) * sticks);
}

// What passes the port of LX: each stick of the inputs and of the output.
double PortCycles(VectorLoop loop, double sticks, const CardParameters& card) {
  const bool two = loop == VectorLoop::kBinary || loop == VectorLoop::kBroadcast;
  const double passes = loop == VectorLoop::kReduce ? 1 : two ? 3 : 2;
  return sticks * passes * kStickBytes / Number(card.core.lx_port_bytes_per_cycle);
}

double LoopNs(const VectorWork& work, const CardParameters& card, const Rates& rates) {
  const double sticks = Number(work.elements) / kBlock / Number(work.cores);
  if (work.loop == VectorLoop::kNone) return 0;
  const bool in_lx = work.bytes_read + work.bytes_written == 0;
  // In loops of so many sticks, 0: one. Of a stream whose tiles are not told, as if they were those
  // that the loops were measured with.
  const auto cycles_of = [&](VectorLoop loop, double count, double of_loop) {
    if (of_loop == 0 && !in_lx) return count * LoopCycles(loop, card);
    const double start = in_lx || of_loop == 0 ? 0 : Number(card.core.vector_startup_cycles);
    if (of_loop == 0) of_loop = count;
    const double cycles = LongLoopCycles(loop, of_loop, card);
    const double port = in_lx ? PortCycles(loop, of_loop, card) : 0;
    return count / of_loop * (std::max(cycles, port) + start);
  };
  double cycles = cycles_of(work.loop, sticks, Number(work.loop_sticks));
  // A reduction's sums are rounded, one stick a row.
  if (work.loop == VectorLoop::kReduce)
    cycles += cycles_of(VectorLoop::kUnary, work.rows_per_core, Number(work.round_rows));
  return cycles * rates.cycle_ns;
}

// Requests of a tile, of all inputs and of the result.
struct TileRequests {
  TileRequests(const VectorWork& work, const CardParameters& card) {
    if (work.loop_sticks == 0) return;
    const double bytes = Number(work.loop_sticks) * kStickBytes;
    if (work.bytes_read != 0) loads = RequestsFor(bytes, work.load_runs, card);
    loads.count *= Number(work.loads);
    if (work.bytes_written != 0) stores = RequestsFor(bytes, work.store_runs, card);
  }
  Requests loads, stores;
};

// There are two buffers for each input and two for the result. A tile is loaded into a buffer when
// the loop has left it, and the loop fills one when its last tile has been stored.
double BuffersNs(const VectorWork& work, const TileRequests& tile, double loop_ns,
                 const CardParameters& card, const Rates& rates) {
  if (work.loop_sticks == 0 || work.loop == VectorLoop::kNone) return 0;
  constexpr double kBuffers = 2;
  const double tiles =
      Number(work.elements) / kBlock / Number(work.cores) / Number(work.loop_sticks);
  // From the load to the loop, from the loop to the store, and back to each.
  const double tokens_ns = 2 * Number(card.core.token_cycles) * rates.cycle_ns;
  const double of_tile = loop_ns / tiles + tokens_ns;
  const double load_ns = TileLoadNs(tile.loads, work.cores, card, rates);
  const double store_ns = TileStoreNs(tile.stores, work.cores, card, rates);
  return tiles * (std::max(load_ns, store_ns) + of_tile) / kBuffers;
}

// Of traffic that passes once.
Load MemoryLoad(const VectorWork& work, const TileRequests& tile, const CardParameters& card,
                const Rates& rates) {
  const double read = Number(work.bytes_read), written = Number(work.bytes_written);
  // With requests of few cores the bus turns more often.
  double turns_ns = rates.TurnaroundNs(read, written);
  if (work.cores <= kCoresOfOneSide) turns_ns *= Number(card.fast.few_cores_permille) / 1000;
  const double part = tile.stores.bytes == 0 ? 0
                                             : PartialWritesNs(tile.stores, card) /
                                                   (tile.stores.count * tile.stores.bytes);
  Load load;
  load.ns = (read / rates.read + written / rates.write + turns_ns) / RunEfficiency(work, card) +
            written * part;
  // A core loads and stores at once.
  load.AtLeast(std::max(read, written) / Number(work.cores) / rates.core, FormulaBound::kMemory);
  // Loads come the shorter way round the ring, stores go either way.
  if (work.cores > 1 && work.cores <= kCoresOfOneSide)
    load.AtLeast(read / rates.half_ring, FormulaBound::kHalfRing);
  return load;
}

KernelTime Begin(const VectorWork& work, const CardParameters& card) {
  KernelTime time;
  time.ns = time.start_ns = Number(card.fast.start_ns);
  time.bytes_read = work.bytes_read;
  time.bytes_written = work.bytes_written;
  time.bound = FormulaBound::kMemory;
  return time;
}

void FindBound(KernelTime& time, FormulaBound of_loop) {
  if (time.loop_ns > time.load_ns) time.bound = of_loop;
  if (time.start_ns > time.ns / 2) time.bound = FormulaBound::kStart;
}

KernelTime TimeOf(const VectorWork& work, const CardParameters& card) {
  const Rates rates(card);
  const TileRequests tile(work, card);
  KernelTime time = Begin(work, card);
  time.loop_ns = LoopNs(work, card, rates);
  const double buffers_ns = BuffersNs(work, tile, time.loop_ns, card, rates);
  const bool waits = buffers_ns > time.loop_ns;
  time.loop_ns = std::max(time.loop_ns, buffers_ns);
  if (work.loop == VectorLoop::kReduce) {
    TimeOfReduction(work, card, rates, time);
  } else {
    const Load load = MemoryLoad(work, tile, card, rates);
    time.load_ns = load.ns;
    time.bound = load.bound;
    time.ns += Overlapped(time.load_ns, time.loop_ns, card.fast.overlap_permille);
  }
  FindBound(time, waits ? FormulaBound::kStream : FormulaBound::kVectorLoop);
  return time;
}

}  // namespace

const char* Name(FormulaBound bound) {
  constexpr std::array<const char*, 8> kNames = {
      "start of the kernel",    "the PT arrays",        "the vector units",   "memory bandwidth",
      "banks of device memory", "one side of the ring", "requests in flight", "short multicasts"};
  return kNames[static_cast<size_t>(bound)];
}

double StepStartNs(const KernelTime& step, bool cores_meet, const CardParameters& card) {
  const double cycles =
      cores_meet ? Number(card.core.barrier_cycles + card.core.step_start_cycles) : 0;
  const bool memory = step.bytes_read + step.bytes_written != 0;
  return cycles * Rates(card).cycle_ns + (memory ? Number(card.fast.step_memory_ns) : 0);
}

KernelTime TimeOf(const KernelWork& work, const CardParameters& card) {
  return std::visit([&](const auto& kind) { return TimeOf(kind, card); }, work);
}

}  // namespace spyre::model
