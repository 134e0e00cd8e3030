// SPDX-License-Identifier: Apache-2.0
#include "sdk/comms/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "base/error.h"
#include "driver/physical_function.h"
#include "model/contract/memory_map.h"

namespace spyre::sdk {
namespace {

using runtime::Collective;
using runtime::CollectiveCall;
using runtime::CollectiveRank;

constexpr const char* kCall = "call";
constexpr const char* kAlgorithm = "SPYRE_COMMS_ALGORITHM";

std::string Kind(const char* word, int tag) { return fmt::format("{} {}", word, tag); }

CollectiveCall SendCall(size_t from, size_t to, uint64_t bytes, const std::string& type) {
  CollectiveCall call;
  call.collective = Collective::kSend;
  call.algorithm = runtime::CollectiveAlgorithm::kDirect;
  call.bytes = bytes;
  call.type = type;
  call.root = from;
  call.peer = to;
  return call;
}

// Whether a rank that gets no result passes on what others get.
bool PassesOn(const runtime::CollectivePlan& plan, size_t rank) {
  for (const auto& round : plan.rounds) {
    for (const runtime::CollectiveStep& step : round) {
      if (step.to == rank && step.target.area == runtime::CollectiveArea::kResult) return true;
    }
  }
  return false;
}

}  // namespace

// Data signals of one call; that all call the same is known before it.
class Rank::Signals final : public runtime::RankSignals {
 public:
  Signals(Rank& rank, std::string kind, const CollectiveCall& call)
      : rank_(rank), kind_(std::move(kind)), call_(call) {}
  void Send(size_t /*from*/, size_t to) override { rank_.channel_.Send(to, kind_, ""); }
  void Wait(size_t from, size_t /*to*/) override {
    rank_.channel_.Receive(from, kind_, call_.ToString());
  }
  void Announce(size_t, const CollectiveCall&) override {}
  const CollectiveCall& WaitForCall(size_t, size_t) override { return call_; }
  void Ended(const std::string& part, uint64_t begin_ps, uint64_t end_ps, uint64_t bytes,
             size_t peer) override {
    if (rank_.mail_ != nullptr) rank_.mail_->Trace(part, begin_ps, end_ps, bytes, peer);
  }

 private:
  Rank& rank_;
  const std::string kind_;
  const CollectiveCall& call_;
};

Rank::Rank(flex::RuntimeContext& context, RankMail* mail, size_t rank, size_t ranks, unsigned card)
    : context_(context),
      rank_(rank),
      ranks_(ranks),
      card_(card),
      mail_(mail),
      channel_(mail, rank, ranks),
      additions_(context, "add"),
      copies_(context, "copy") {}

Rank::~Rank() = default;

flex::DeviceHandle Rank::Own(std::unique_ptr<runtime::DeviceStorage>& storage, uint64_t bytes) {
  if (storage == nullptr || storage->size_bytes() < bytes) {
    storage.reset();
    storage = std::make_unique<runtime::DeviceStorage>(
        context_, std::max<uint64_t>(kStickBytes, bytes), flex::MemoryKind::kTensor);
  }
  return storage->handle();
}

// The window of the card that other cards write through: what a call uses must lie in one.
void Rank::OpenWindow(const flex::DeviceHandle& place) {
  const uint64_t base = flex::RawOffset(place) / kBar2Bytes * kBar2Bytes;
  if (base == window_) return;
  if (offers_ > 0) {
    throw BadInput(
        "rank {}: memory at 0x{:x} lies in another window of {} bytes than that of a receive that "
        "is open; wait for the receive first",
        rank_, flex::RawOffset(place), kBar2Bytes);
  }
  const auto lock = context_.Lock();
  driver::PhysicalFunction(context_.device()).OpenPeerWindow(base);
  window_ = base;
}

uint64_t Rank::InWindow(const flex::DeviceHandle& place, uint64_t bytes, const char* what) const {
  const uint64_t offset = flex::RawOffset(place);
  if (offset < window_ || offset + bytes > window_ + kBar2Bytes) {
    throw BadInput(
        "rank {}: {} of {} bytes at 0x{:x} is not in the window of {} bytes at 0x{:x} that other "
        "cards reach; what a collective uses must lie in one such window",
        rank_, what, bytes, offset, kBar2Bytes, window_);
  }
  return offset - window_;
}

const flex::PeerMemory& Rank::WindowOf(unsigned card) {
  return windows_.try_emplace(card, context_, card, 0, kBar2Bytes).first->second;
}

void Rank::Exchange(const Announcement& mine, std::vector<Announcement>& all) {
  const std::string called = mine.call.ToString();
  for (size_t other = 0; other < ranks_; ++other)
    if (other != rank_) channel_.Send(other, kCall, called, mine.Text());
  all.resize(ranks_);
  for (size_t other = 0; other < ranks_; ++other) {
    if (other == rank_) {
      all[other] = mine;
      continue;
    }
    all[other] = Announcement::Parse(channel_.Receive(other, kCall, called));
    runtime::CheckSameCall(mine.number, rank_, mine.call, other, all[other].call);
  }
}

void Rank::Run(const CollectiveCall& call, const Areas& areas) {
  const runtime::CollectivePlan plan = runtime::PlanCollective(call, ranks_);
  const flex::DeviceHandle inbox = Own(inbox_, plan.inbox_bytes);
  CollectiveRank::Place place{rank_, areas.data, {}, inbox, areas.blocks};
  if (call.collective == Collective::kBarrier) place.data = inbox;
  const bool passes_on = areas.blocks.empty() && PassesOn(plan, rank_);
  if (passes_on) place.result = Own(passed_on_, plan.result_bytes);
  std::vector<Announcement> all;
  Announcement mine;
  mine.number = calls_++;
  mine.call = plan.call;
  mine.card = card_;
  if (ranks_ > 1) {
    OpenWindow(place.data);
    mine.data = InWindow(place.data, plan.call.bytes, "its data");
    mine.inbox = InWindow(inbox, plan.inbox_bytes, "the inbox");
    if (passes_on) mine.result = InWindow(place.result, plan.result_bytes, "what it passes on");
    for (const flex::DeviceHandle& block : areas.blocks)
      mine.blocks.push_back(InWindow(block, call.bytes, "a block of the result"));
  }
  Exchange(mine, all);
  std::vector<CollectiveRank::Peer> peers(ranks_);
  for (const auto& round : plan.rounds) {
    for (const runtime::CollectiveStep& step : round) {
      if (step.from != rank_) continue;
      const Announcement& to = all[step.to];
      peers[step.to] = {&WindowOf(to.card), to.data, to.result, to.inbox, to.blocks};
    }
  }
  Signals signals(*this, "data", plan.call);
  CollectiveRank(
      context_, place, std::move(peers), signals,
      [this](const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes) {
        additions_.Launch({into, from, into}, bytes);
      })
      .Run(plan);
  if (areas.blocks.empty()) return;
  copies_.Launch({areas.data, areas.blocks[rank_]}, call.bytes);
  context_.DefaultStream().Synchronize();
}

bool Rank::CanSend(size_t to, int tag) const { return channel_.Has(to, Kind("offer", tag)); }
bool Rank::CanReceive(size_t from, int tag) const { return channel_.Has(from, Kind("sent", tag)); }

void Rank::Offer(size_t from, int tag, const flex::DeviceHandle& data, uint64_t bytes,
                 const std::string& type) {
  OpenWindow(data);
  Announcement offer;
  offer.call = SendCall(from, rank_, bytes, type);
  offer.card = card_;
  offer.data = InWindow(data, bytes, "its data");
  channel_.Send(from, Kind("offer", tag),
                fmt::format("recv of {} bytes of {} from rank {}", bytes, type, from),
                offer.Text());
  ++offers_;
}

void Rank::Send(size_t to, int tag, const flex::DeviceHandle& data, uint64_t bytes,
                const std::string& type) {
  const CollectiveCall call = SendCall(rank_, to, bytes, type);
  channel_.Send(to, Kind("sends", tag), call.ToString(), "");
  const Announcement offer =
      Announcement::Parse(channel_.Receive(to, Kind("offer", tag), call.ToString()));
  const std::string sent = Kind("sent", tag);
  if (!(offer.call == call)) {
    channel_.Send(to, sent, "", call.ToString());
    throw BadInput(
        "rank {} calls {} with tag {}, and rank {} receives {} bytes of {}; both must be "
        "the same",
        rank_, call.ToString(), tag, to, offer.call.bytes, offer.call.type);
  }
  std::vector<CollectiveRank::Peer> peers(ranks_);
  peers[to] = {&WindowOf(offer.card), offer.data};
  Signals signals(*this, sent, call);
  CollectiveRank(context_, {rank_, data, {}, {}}, std::move(peers), signals, nullptr)
      .Run(runtime::PlanCollective(call, ranks_));
}

void Rank::Receive(size_t from, int tag, uint64_t bytes, const std::string& type) {
  const CollectiveCall call = SendCall(from, rank_, bytes, type);
  channel_.Receive(from, Kind("sends", tag), call.ToString());
  const std::string other = channel_.Receive(from, Kind("sent", tag), call.ToString());
  --offers_;
  if (other.empty()) return;
  throw BadInput(
      "rank {} receives {} bytes of {} with tag {}, and rank {} calls {}; both must be the same",
      rank_, bytes, type, tag, from, other);
}

runtime::CollectiveAlgorithm AlgorithmOfEnvironment() {
  const char* const value = std::getenv(kAlgorithm);
  if (value == nullptr || *value == '\0') return runtime::CollectiveAlgorithm::kAuto;
  const std::vector<std::string>& names = runtime::CollectiveAlgorithmNames();
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end()) {
    throw BadInput("{} = '{}': auto, ring, tree or direct is expected", kAlgorithm, value)
        .Subject(kAlgorithm);
  }
  return static_cast<runtime::CollectiveAlgorithm>(std::distance(names.begin(), found));
}

}  // namespace spyre::sdk
