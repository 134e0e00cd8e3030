// SPDX-License-Identifier: Apache-2.0
#include "runtime/collectives/ring.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/flex_stream.h"
#include "traces/recorder.h"

namespace spyre::runtime {

RingChunk ChunkOf(uint64_t bytes, size_t ranks, size_t number) {
  const uint64_t sticks = bytes / kStickBytes;
  const uint64_t least = sticks / ranks, more = sticks % ranks;
  const uint64_t begin = number * least + std::min<uint64_t>(number, more);
  return {begin * kStickBytes, (least + (number < more ? 1 : 0)) * kStickBytes};
}

uint64_t InboxBytes(uint64_t bytes, size_t ranks) { return 2 * ChunkOf(bytes, ranks, 0).bytes; }

RingRank::RingRank(flex::RuntimeContext& context, const Place& place, RankSignals& signals,
                   Reduce reduce)
    : context_(context), place_(place), signals_(signals), reduce_(std::move(reduce)) {
  if (place_.bytes == 0 || place_.bytes % kStickBytes != 0) {
    throw BadInput("a collective over {} bytes: must be a multiple of {} bytes, and not 0",
                   place_.bytes, kStickBytes);
  }
}

size_t RingRank::Behind(size_t steps) const {
  return (place_.rank + 2 * place_.ranks - steps) % place_.ranks;
}

void RingRank::AllReduce() {
  title_ = fmt::format("[AllReduce,Ring,{}]", place_.bytes);
  ReduceScatter();
  AllGather();
  title_.clear();
}

void RingRank::ReduceScatter() {
  const bool alone = title_.empty();
  if (alone) title_ = fmt::format("[ReduceScatter,Ring,{}]", place_.bytes);
  const uint64_t half = InboxBytes(place_.bytes, place_.ranks) / 2;
  const size_t steps = place_.ranks - 1;
  for (size_t step = 0; step < steps; ++step) {
    const uint64_t slot = step % 2 * half;
    if (step >= 2) WaitFor(Next(), RankSignals::Kind::kAck);
    Send(ChunkOf(place_.bytes, place_.ranks, Behind(step)), place_.next_inbox + slot);
    Tell(Next(), RankSignals::Kind::kData);
    WaitFor(Previous(), RankSignals::Kind::kData);
    Add(ChunkOf(place_.bytes, place_.ranks, Behind(step + 1)), slot);
    Tell(Previous(), RankSignals::Kind::kAck);
  }
  // Those that no step has waited for.
  for (size_t step = steps < 2 ? 0 : steps - 2; step < steps; ++step)
    WaitFor(Next(), RankSignals::Kind::kAck);
  if (alone) title_.clear();
}

void RingRank::AllGather() {
  const bool alone = title_.empty();
  if (alone) title_ = fmt::format("[AllGather,Ring,{}]", place_.bytes);
  for (size_t step = 0; step + 1 < place_.ranks; ++step) {
    // At first the chunk after its own number, then what has come.
    const RingChunk chunk = ChunkOf(place_.bytes, place_.ranks, Behind(step + place_.ranks - 1));
    Send(chunk, place_.next_data + chunk.offset);
    Tell(Next(), RankSignals::Kind::kData);
    WaitFor(Previous(), RankSignals::Kind::kData);
  }
  if (alone) title_.clear();
}

void RingRank::Send(const RingChunk& chunk, uint64_t offset) {
  const uint64_t begin_ps = context_.NowPs();
  ++times_.steps;
  if (chunk.bytes > 0) {
    flex::FlexStream& stream = context_.DefaultStream();
    flex::OperationInfo info;
    info.name = fmt::format("{} Send", title_);
    info.label = fmt::format("peer {}", Next());
    info.bulk = true;
    stream.CopyToPeer(flex::Offset(place_.data, static_cast<int64_t>(chunk.offset)), *place_.next,
                      offset, chunk.bytes, info);
    stream.Synchronize();
  }
  times_.send_ps += context_.NowPs() - begin_ps;
  times_.bytes_sent += chunk.bytes;
  Trace("SEND_DATA", begin_ps, Next(), chunk.bytes);
}

void RingRank::Tell(size_t to, RankSignals::Kind kind) {
  const uint64_t begin_ps = context_.NowPs();
  signals_.Send(place_.rank, to, kind);
  Trace(kind == RankSignals::Kind::kData ? "SIGNAL_DATA" : "SIGNAL_ACK", begin_ps, to, 0);
}

void RingRank::WaitFor(size_t from, RankSignals::Kind kind) {
  const uint64_t begin_ps = context_.NowPs();
  signals_.Wait(from, place_.rank, kind);
  times_.wait_ps += context_.NowPs() - begin_ps;
  Trace(kind == RankSignals::Kind::kData ? "WAIT_DATA" : "WAIT_ACK", begin_ps, from, 0);
}

void RingRank::Add(const RingChunk& chunk, uint64_t inbox_offset) {
  const uint64_t begin_ps = context_.NowPs();
  Trace("RECV_DATA", begin_ps, Previous(), chunk.bytes);
  if (chunk.bytes > 0) {
    reduce_(flex::Offset(place_.data, static_cast<int64_t>(chunk.offset)),
            flex::Offset(place_.inbox, static_cast<int64_t>(inbox_offset)), chunk.bytes);
    context_.DefaultStream().Synchronize();
  }
  times_.compute_ps += context_.NowPs() - begin_ps;
  Trace("COMPUTE", begin_ps, Previous(), chunk.bytes);
}

void RingRank::Trace(const char* what, uint64_t begin_ps, size_t peer, uint64_t bytes) {
  trace::Recorder* const recorder = context_.options().device.recorder;
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "collectives"),
                  recorder->Intern(fmt::format("{} {}", title_, what)), begin_ps, context_.NowPs(),
                  0, bytes, static_cast<uint32_t>(peer));
}

}  // namespace spyre::runtime
