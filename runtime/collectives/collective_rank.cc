// SPDX-License-Identifier: Apache-2.0
#include "runtime/collectives/collective_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/flex/flex_stream.h"
#include "traces/recording/recorder.h"

namespace spyre::runtime {
namespace {

std::string TitleOf(const CollectiveCall& call) {
  std::string algorithm = Name(call.algorithm);
  algorithm[0] = static_cast<char>(algorithm[0] - 'a' + 'A');
  return fmt::format("[{},{},{}]", TraceName(call.collective), algorithm, call.bytes);
}

}  // namespace

CollectiveTimes& CollectiveTimes::operator+=(const CollectiveTimes& other) {
  send_ps += other.send_ps;
  wait_ps += other.wait_ps;
  compute_ps += other.compute_ps;
  bytes_sent += other.bytes_sent;
  steps += other.steps;
  return *this;
}

CollectiveRank::CollectiveRank(flex::RuntimeContext& context, const Place& place,
                               std::vector<Peer> peers, RankSignals& signals, Reduce reduce,
                               size_t calls)
    : context_(context),
      place_(place),
      peers_(std::move(peers)),
      signals_(signals),
      reduce_(std::move(reduce)),
      calls_(calls) {}

void CollectiveRank::Run(const CollectivePlan& plan) {
  title_ = TitleOf(plan.call);
  block_bytes_ = plan.call.bytes;
  Agree(plan);
  for (const auto& round : plan.rounds) {
    for (const CollectiveStep& step : round) {
      if (step.from == place_.rank) Send(step);
    }
    for (const CollectiveStep& step : round) {
      if (step.to == place_.rank) Take(step);
    }
  }
}

void CollectiveRank::Agree(const CollectivePlan& plan) {
  const uint64_t begin_ps = context_.NowPs();
  const size_t number = calls_++;
  signals_.Announce(place_.rank, plan.call);
  for (size_t rank = 0; rank < plan.ranks; ++rank) {
    if (rank == place_.rank) continue;
    CheckSameCall(number, place_.rank, plan.call, rank, signals_.WaitForCall(rank, number));
  }
  times_.wait_ps += context_.NowPs() - begin_ps;
  Trace("WAIT_ACK", begin_ps, place_.rank, 0);
}

flex::DeviceHandle CollectiveRank::At(const CollectiveRange& range) const {
  if (range.area == CollectiveArea::kResult && !place_.blocks.empty()) {
    return flex::Offset(place_.blocks.at(range.offset / block_bytes_),
                        static_cast<int64_t>(range.offset % block_bytes_));
  }
  const flex::DeviceHandle& area = range.area == CollectiveArea::kData     ? place_.data
                                   : range.area == CollectiveArea::kResult ? place_.result
                                                                           : place_.inbox;
  return flex::Offset(area, static_cast<int64_t>(range.offset));
}

uint64_t CollectiveRank::At(const Peer& peer, const CollectiveRange& range) const {
  if (range.area == CollectiveArea::kResult && !peer.blocks.empty())
    return peer.blocks.at(range.offset / block_bytes_) + range.offset % block_bytes_;
  const uint64_t area = range.area == CollectiveArea::kData     ? peer.data
                        : range.area == CollectiveArea::kResult ? peer.result
                                                                : peer.inbox;
  return area + range.offset;
}

uint64_t CollectiveRank::PieceOf(const CollectiveRange& range, bool in_blocks,
                                 uint64_t bytes) const {
  if (range.area != CollectiveArea::kResult || !in_blocks) return bytes;
  return std::min(bytes, block_bytes_ - range.offset % block_bytes_);
}

void CollectiveRank::Send(const CollectiveStep& step) {
  const uint64_t begin_ps = context_.NowPs();
  const Peer& peer = peers_[step.to];
  flex::FlexStream& stream = context_.DefaultStream();
  flex::OperationInfo info;
  info.name = fmt::format("{} Send", title_);
  info.label = fmt::format("peer {}", step.to);
  info.bulk = true;
  for (uint64_t done = 0; done < step.bytes;) {
    const CollectiveRange source{step.source.area, step.source.offset + done};
    const CollectiveRange target{step.target.area, step.target.offset + done};
    const uint64_t piece = PieceOf(source, !place_.blocks.empty(),
                                   PieceOf(target, !peer.blocks.empty(), step.bytes - done));
    stream.CopyToPeer(At(source), *peer.memory, At(peer, target), piece, info);
    done += piece;
  }
  stream.Synchronize();
  ++times_.steps;
  times_.send_ps += context_.NowPs() - begin_ps;
  times_.bytes_sent += step.bytes;
  Trace("SEND_DATA", begin_ps, step.to, step.bytes);
  const uint64_t sent_ps = context_.NowPs();
  signals_.Send(place_.rank, step.to);
  Trace("SIGNAL_DATA", sent_ps, step.to, 0);
}

void CollectiveRank::Take(const CollectiveStep& step) {
  const uint64_t begin_ps = context_.NowPs();
  signals_.Wait(step.from, place_.rank);
  times_.wait_ps += context_.NowPs() - begin_ps;
  Trace("WAIT_DATA", begin_ps, step.from, 0);
  const uint64_t came_ps = context_.NowPs();
  Trace("RECV_DATA", came_ps, step.from, step.bytes);
  if (!step.adds) return;
  reduce_(At({CollectiveArea::kData, step.sum}), At(step.target), step.bytes);
  context_.DefaultStream().Synchronize();
  times_.compute_ps += context_.NowPs() - came_ps;
  Trace("COMPUTE", came_ps, step.from, step.bytes);
}

void CollectiveRank::Trace(const char* what, uint64_t begin_ps, size_t peer, uint64_t bytes) {
  const std::string part = fmt::format("{} {}", title_, what);
  const uint64_t end_ps = context_.NowPs();
  signals_.Ended(part, begin_ps, end_ps, bytes, peer);
  trace::Recorder* const recorder = context_.options().device.recorder;
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "collectives"), recorder->Intern(part),
                  begin_ps, end_ps, 0, bytes, static_cast<uint32_t>(peer));
}

}  // namespace spyre::runtime
