// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tile_overlap.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/spyre/launch_arguments.h"

namespace spyre::runtime {
namespace {

bool Intersect(const TensorChunk& a, const TensorChunk& b) {
  if (flex::IsPhysical(a.handle) != flex::IsPhysical(b.handle)) return false;
  if (!flex::IsPhysical(a.handle) && std::get<flex::VFDeviceHandle>(a.handle).region_id !=
                                         std::get<flex::VFDeviceHandle>(b.handle).region_id)
    return false;
  const uint64_t a_begin = flex::RawOffset(a.handle);
  const uint64_t b_begin = flex::RawOffset(b.handle);
  return a_begin < b_begin + b.size_bytes && b_begin < a_begin + a.size_bytes;
}

bool ShareMemory(const SpyreTensor& a, const SpyreTensor& b) {
  const std::vector<TensorChunk> pieces = PiecesOf(b);
  for (const TensorChunk& piece : PiecesOf(a)) {
    if (AnyFits(pieces, [&](const TensorChunk& other) { return Intersect(piece, other); }))
      return true;
  }
  return false;
}

// Tiles along a dimension that the kernel sums over: what one leaves is where the next goes on.
void CheckReduction(const TileLauncher& tiles, const LaunchOptions& options) {
  if (tiles.plan().reduced < 0 || options.reduction == ReductionTiling::kDevice) return;
  throw BadInput(
      "{}: overlap '{}' with reduction '{}': {}; reduction '{}' with overlap '{}' would do, or "
      "overlap '{}'",
      Describe(tiles.operation()), Name(options.overlap), Name(options.reduction),
      options.reduction == ReductionTiling::kLx
          ? "the sums stay in LX, and nothing may come between the launches of one result"
          : "the accumulate kernel of a tile follows its kernel, and they have one place for "
            "partial results",
      Name(ReductionTiling::kDevice), Name(Overlap::kDoubleBuffer), Name(Overlap::kNone));
}

// No other tile touches what a tile writes: each tile has its part of the output, and another
// argument that shares its memory is the same tensor, tile by tile.
void CheckIndependent(const TileLauncher& tiles) {
  const SpyreCompute& compute = *tiles.operation().compute();
  const TilingPlan& plan = tiles.plan();
  const std::vector<SpyreTensor>& tensors = tiles.tensors();
  const std::string remedy =
      fmt::format("tiles on different streams have no order; overlap '{}' or '{}' keeps it",
                  Name(Overlap::kDoubleBuffer), Name(Overlap::kNone));
  for (size_t out = 0; out < tensors.size(); ++out) {
    if (!compute.arguments[out].is_output) continue;
    for (size_t d = 0; d < plan.dimensions.size(); ++d) {
      if (plan.dimensions[d].count == 1 || plan.byte_step[out][d] != 0) continue;
      throw BadInput("kernel '{}', {}: its tiles along '{}' write the same memory, and {}",
                     compute.name, ArgumentName(compute, out), plan.dimensions[d].name, remedy);
    }
    for (size_t other = 0; other < tensors.size(); ++other) {
      if (other == out || !ShareMemory(tensors[out], tensors[other])) continue;
      if (tensors[other].device_handle == tensors[out].device_handle &&
          tensors[other].shape == tensors[out].shape &&
          tensors[other].stride == tensors[out].stride &&
          plan.byte_step[other] == plan.byte_step[out])
        continue;
      throw BadInput("kernel '{}': {}, {}, shares memory with {}, {}, and {}", compute.name,
                     ArgumentName(compute, out), ToString(tensors[out]),
                     ArgumentName(compute, other), ToString(tensors[other]), remedy);
    }
  }
}

}  // namespace

int SlotsFor(const LaunchOptions& options) {
  if (options.overlap == Overlap::kNone) return 1;
  if (options.depth < 1 || options.depth > kMaxOverlapDepth) {
    throw BadInput("overlap '{}' with depth {}: it is 1, tile after tile, to {}",
                   Name(options.overlap), options.depth, kMaxOverlapDepth);
  }
  return options.depth;
}

void SlotOccupancy::Enter(int64_t tile) {
  if (tile_ >= 0 && tile_ != tile) {
    throw InternalError("slot {} is used for tile {} while tile {} is in flight in it", slot_, tile,
                        tile_);
  }
  tile_ = tile;
}

TileOverlap::TileOverlap(const SpyreStream& stream, TileLauncher& tiles,
                         const LaunchOptions& options)
    : caller_(stream),
      tiles_(tiles),
      overlap_(options.overlap),
      captured_(stream.context().Captures(stream.flex_stream())) {
  flex::RuntimeContext& context = caller_.context();
  const uint32_t index = caller_.flex_stream().stream_index();
  if (const auto error = context.ErrorOf(index)) {
    throw DeviceFault("stream {} is in error, LaunchTiled of {} refused; the first error was: {}",
                      index, Describe(tiles.operation()), error->message);
  }
  for (const auto& [kernel, argument] : tiles.Kernels()) {
    if (kernel->replicas() == nullptr) {
      throw BadInput(
          "{}, overlap '{}': it was not made by LoadPlan, so its program cannot be "
          "loaded once more for each tile in flight",
          Describe(*kernel), Name(overlap_));
    }
  }
  CheckReduction(tiles, options);
  if (overlap_ == Overlap::kStreams) CheckIndependent(tiles);
  const auto slots = static_cast<size_t>(tiles.slots());
  const std::vector<flex::FlexStream*> streams = context.HelperStreams(
      caller_.flex_stream(), overlap_ == Overlap::kStreams ? slots : size_t{1});
  for (size_t s = 0; s < slots; ++s)
    slots_.push_back({SpyreStream(context, *streams[s % streams.size()])});
  try {
    for (Slot& slot : slots_) TakeReplicas(slot);
  } catch (...) {
    Return();
    throw;
  }
}

TileOverlap::~TileOverlap() { Return(); }

void TileOverlap::Return() {
  for (Slot& slot : slots_) {
    for (const auto& [replicas, replica] : slot.replicas) replicas->Return(replica);
    slot.replicas.clear();
  }
}

void TileOverlap::TakeReplicas(Slot& slot) {
  const auto number = static_cast<int>(&slot - slots_.data());
  slot.occupancy = std::make_shared<SlotOccupancy>(number);
  slot.occupancy->Keep(tiles_.keep_alive());
  for (const auto& [kernel, argument] : tiles_.Kernels()) {
    ProgramReplicas& replicas = *kernel->replicas();
    try {
      slot.replicas.emplace_back(&replicas, replicas.Take(caller_.flex_stream()));
    } catch (const Error& error) {
      throw BadInput(
          "{}, overlap '{}': no room for slot {} of {}, with {} bytes for program '{}': {}",
          Describe(tiles_.operation()), Name(overlap_), number + 1, slots_.size(),
          replicas.size_bytes(), kernel->compute()->name, error.what());
    }
    const std::shared_ptr<ProgramReplica>& replica = slot.replicas.back().second;
    slot.kernels.emplace(std::make_pair(kernel, argument), replicas.On(*kernel, replica));
    slot.occupancy->Keep(replica);
  }
}

flex::Event TileOverlap::MakeEvent(const std::string& what) const {
  return flex::Event(caller_.context(), fmt::format("{}, {}", Describe(tiles_.operation()), what));
}

// The slot's first use; a replica's last one was in another launch.
void TileOverlap::Begin(Slot& slot, const std::vector<flex::Event>& ends) {
  for (const auto& [replicas, replica] : slot.replicas)
    replicas->Begin(slot.stream.flex_stream(), replica, ends);
}

void TileOverlap::Prepare(Slot& slot, const Steps& steps) {
  for (const TileLauncher::Step& step : steps) {
    flex::OperationInfo info = step.info;
    info.keep_alive = slot.occupancy;
    info.then = [occupancy = slot.occupancy, tile = static_cast<int64_t>(info.tag)] {
      occupancy->Enter(tile);
    };
    if (step.kernel != nullptr) {
      slot.stream.PrepareAt(slot.kernels.at({step.kernel, step.argument}), step.locations, info);
    } else {
      slot.stream.flex_stream().Fill(step.filled.device_handle, step.filled.size_bytes, 0, info);
    }
  }
}

void TileOverlap::Compute(SpyreStream& stream, const Slot& slot, const Steps& steps) {
  for (const TileLauncher::Step& step : steps) {
    if (step.kernel == nullptr) continue;
    flex::OperationInfo info = step.info;
    info.keep_alive = slot.occupancy;
    if (&step == &steps.back()) info.then = [occupancy = slot.occupancy] { occupancy->Leave(); };
    stream.ComputeAt(slot.kernels.at({step.kernel, step.argument}), step.locations, info);
  }
}

void TileOverlap::Enqueue() {
  if (overlap_ == Overlap::kStreams) {
    Streams();
  } else {
    DoubleBuffer();
  }
}

// Brings the helper streams into a capture; `start` is recorded on the caller's stream.
void TileOverlap::Join(const flex::Event& start) {
  const size_t streams = overlap_ == Overlap::kStreams ? slots_.size() : 1;
  for (size_t s = 0; s < streams; ++s) slots_[s].stream.flex_stream().Wait(start);
}

// The helper stream of a captured double buffer ends when the last tiles do: replays on different
// streams share it, and so follow each other.
void TileOverlap::EndReplay() {
  const flex::Event end = MakeEvent("end of its tiles");
  flex::FlexStream& prepares = slots_[0].stream.flex_stream();
  for (const Slot& slot : slots_) prepares.Wait(*slot.computed);
  prepares.Record(end);
  caller_.flex_stream().Wait(end);
}

void TileOverlap::DoubleBuffer() {
  const int64_t count = tiles_.plan().size();
  flex::FlexStream& computes = caller_.flex_stream();
  if (captured_) {
    const flex::Event start = MakeEvent("start of its tiles");
    computes.Record(start);
    Join(start);
  }
  for (int64_t i = 0; i < count; ++i) {
    const flex::RuntimeContext::Batch batch(caller_.context());
    const auto number = static_cast<size_t>(i) % slots_.size();
    Slot& slot = slots_[number];
    flex::FlexStream& prepares = slot.stream.flex_stream();
    const flex::Event prepared = MakeEvent(fmt::format("tile {} of {} prepared", i, count));
    const flex::Event computed = MakeEvent(fmt::format("tile {} of {} computed", i, count));
    if (slot.computed) {
      prepares.Wait(*slot.computed);
      for (const auto& [replicas, replica] : slot.replicas) replica->set_ends({prepared, computed});
    } else {
      Begin(slot, {prepared, computed});
    }
    const Steps steps = tiles_.StepsOf(i, static_cast<int>(number));
    Prepare(slot, steps);
    prepares.Record(prepared);
    computes.Wait(prepared);
    Compute(caller_, slot, steps);
    computes.Record(computed);
    slot.computed = computed;
  }
  if (captured_) EndReplay();
}

void TileOverlap::Streams() {
  const int64_t count = tiles_.plan().size();
  const auto stride = static_cast<int64_t>(slots_.size());
  const flex::Event start = MakeEvent("start of its tiles");
  caller_.flex_stream().Record(start);
  if (captured_) Join(start);
  for (int64_t i = 0; i < count; ++i) {
    const flex::RuntimeContext::Batch batch(caller_.context());
    const auto number = static_cast<size_t>(i % stride);
    Slot& slot = slots_[number];
    const bool first = !slot.computed;
    if (first) {
      slot.computed = MakeEvent(
          fmt::format("tiles {}, {}, ... of {} computed", number, number + slots_.size(), count));
      Begin(slot, {*slot.computed});
    }
    const Steps steps = tiles_.StepsOf(i, static_cast<int>(number));
    Prepare(slot, steps);
    if (first && !captured_) slot.stream.flex_stream().Wait(start);
    Compute(slot.stream, slot, steps);
    if (i + stride >= count) slot.stream.flex_stream().Record(*slot.computed);
  }
  for (const Slot& slot : slots_) caller_.flex_stream().Wait(*slot.computed);
}

}  // namespace spyre::runtime
