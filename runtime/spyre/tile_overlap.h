// SPDX-License-Identifier: Apache-2.0
// TileOverlap: enqueues the tiles of one launch so that parts of different tiles run beside each
// other. Each tile in flight has a slot: a replica of every program it launches, which correction
// patches, and staging tensors of its own. Tile i has slot i modulo their number.
//
// Overlap::kDoubleBuffer: a helper stream prepares (copies correction input, corrects, fills
// staging), the caller's stream computes, tile by tile in order. Events in both directions:
//
//   helper   prepare 0 | prepare 1 | wait for compute 0, prepare 2 | ...
//   caller   wait for prepare 0, compute 0 | wait for prepare 1, compute 1 | ...
//
// Overlap::kStreams: every slot has a helper stream, which does its tiles in order. They start to
// compute after what the caller's stream has before, and the caller's stream goes on after all of
// them; between streams there is no order, so tiles must not share what one of them writes.
//
// While the caller's stream is captured, helper streams join the capture first, and a replay begins
// to prepare only when the one before has ended. The replicas stay the captured graph's.
//
// Made for one launch, under the runtime's lock, which it needs until it is destroyed. The
// constructor takes all that is needed; nothing is enqueued by then. Errors: Error(kBadInput) for a
// launch whose tiles cannot overlap, or without memory or streams for it. A failure of a helper
// stream becomes one of the caller's stream, by events that name the tile. That no slot is ever
// used by two tiles at once is checked by the card's answers: Error(kInternal) on that stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/flex/event.h"
#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/program_replicas.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tile_launcher.h"

namespace spyre::runtime {

// Sets of buffers that a launch with these options uses, if it has so many tiles; 1: its tiles
// follow each other. BadInput for a depth outside 1 to kMaxOverlapDepth.
int SlotsFor(const LaunchOptions& options);

// Which tile has a slot, as the card's answers say, and what work in the slot needs until it has
// completed. Called under the runtime's lock.
class SlotOccupancy {
 public:
  explicit SlotOccupancy(int slot) : slot_(slot) {}
  void Keep(std::shared_ptr<const void> memory) { memory_.push_back(std::move(memory)); }
  void Enter(int64_t tile);  // Error(kInternal) if another tile has it
  void Leave() { tile_ = -1; }

 private:
  int slot_;
  int64_t tile_ = -1;
  std::vector<std::shared_ptr<const void>> memory_;
};

class TileOverlap {
 public:
  TileOverlap(const SpyreStream& stream, TileLauncher& tiles, const LaunchOptions& options);
  ~TileOverlap();
  TileOverlap(const TileOverlap&) = delete;
  TileOverlap& operator=(const TileOverlap&) = delete;

  void Enqueue();

 private:
  struct Slot {
    SpyreStream stream;                                                  // that prepares its tiles
    std::map<std::pair<const Operation*, int>, Operation> kernels = {};  // as TileLauncher::Kernels
    std::vector<std::pair<ProgramReplicas*, std::shared_ptr<ProgramReplica>>> replicas = {};
    std::shared_ptr<SlotOccupancy> occupancy = {};
    std::optional<flex::Event> computed = {};  // its last tile
  };
  using Steps = std::vector<TileLauncher::Step>;

  void TakeReplicas(Slot& slot);
  void Return();  // replicas, to the plans
  flex::Event MakeEvent(const std::string& what) const;
  static void Begin(Slot& slot, const std::vector<flex::Event>& ends);
  static void Prepare(Slot& slot, const Steps& steps);
  static void Compute(SpyreStream& stream, const Slot& slot, const Steps& steps);
  void DoubleBuffer();
  void Streams();
  void Join(const flex::Event& start);
  void EndReplay();

  SpyreStream caller_;
  TileLauncher& tiles_;
  Overlap overlap_;
  bool captured_;
  std::vector<Slot> slots_;
};

}  // namespace spyre::runtime
