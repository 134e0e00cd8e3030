// SPDX-License-Identifier: Apache-2.0
// Second part of Ring: multicasts.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "model/ring/ring.h"

namespace spyre::model {

namespace {
// Calls visit(stop) for every stop of the mask, lowest first.
template <class Visit>
void ForEachStop(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(__builtin_ctz(mask));
}
}  // namespace

Ring::Group& Ring::GroupOf(uint32_t mask, int stop) {
  Group*& last = last_group_[stop];
  if (last == nullptr || last->mask != mask) {
    last = &groups_[mask];
    last->mask = mask;
  }
  return *last;
}

void Ring::JoinMulticast(const TransferRequest& transfer, const MulticastBurst& burst,
                         MulticastMember& member) {
  const int stop = transfer.stop;
  Group& group = GroupOf(transfer.group, stop);
  const uint64_t place = group.joined[stop]++ - group.complete;
  if (place == group.assembling.size()) {
    Multicast* const next = Take(multicasts_, free_multicasts_);
    next->arrived = 0;
    next->mismatch = false;
    next->address = burst.address;
    next->bytes = burst.bytes;
    next->pieces = transfer.pieces;
    next->end = {tlm::TLM_INCOMPLETE_RESPONSE, 0, 0, 0, {}, {}};
    group.assembling.push_back(next);
  }
  Multicast& multicast = *group.assembling[place];
  multicast.members[stop] = {&member, burst.place, burst.data};
  multicast.arrived |= 1u << stop;
  multicast.mismatch |= multicast.address != burst.address || multicast.bytes != burst.bytes ||
                        !(multicast.pieces == transfer.pieces);
  // Who asks at the same time as others asks in the order of stops.
  MulticastEnd& end = multicast.end;
  if (std::tuple(burst.asks_ps, transfer.stop) >= std::tuple(end.joined_ps, end.last_stop)) {
    end.joined_ps = burst.asks_ps;
    end.last_stop = transfer.stop;
    multicast.last_number = ++joins_;
    if (burst.path != nullptr) end.path = *burst.path;
  }
  if (multicast.arrived != transfer.group) return;
  // Members join in order, so the first multicast is the first that has all.
  group.assembling.pop_front();
  ++group.complete;
  if (multicast.mismatch) {
    EndMulticast(multicast, tlm::TLM_COMMAND_ERROR_RESPONSE, end.joined_ps);
    return;
  }
  multicast.read.info.Ask(transfer, &multicast);
  turns_.push_back({end.joined_ps, end.last_stop, multicast.last_number, &multicast, nullptr});
  turn_event_.notify(sc_core::SC_ZERO_TIME);
}

// Several that ask at the same time go to memory in the order in which they, or their last members,
// asked, whichever of the cores the simulation let go on first.
void Ring::TakeTurns() {
  std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
    return std::tuple(a.asked_ps, a.stop, a.number) < std::tuple(b.asked_ps, b.stop, b.number);
  });
  taken_.swap(turns_);
  for (const Turn& turn : taken_) {
    if (turn.multicast != nullptr) {
      ReadMulticast(*turn.multicast);
      continue;
    }
    auto& transfer = *turn.unicast->get_extension<Transfer>();
    const uint64_t arrives_ps = AfterHops(turn.asked_ps, Hops(transfer.stop));
    SendToMemory(*turn.unicast, transfer,
                 Admit(transfer, turn.unicast->get_data_length(), arrives_ps));
  }
  taken_.clear();
}

// Requests that lie in one window of device memory share their turn.
uint64_t Ring::Admit(Transfer& transfer, uint64_t bytes, uint64_t at_ps) {
  if (!config_.timed()) return at_ps;
  const uint64_t window = config_.ring.request_window_bytes;
  const uint64_t reach = std::max(bytes, transfer.spacing == 0 ? window : transfer.spacing);
  const uint64_t start = memory_stop_turns_.ReserveCycles(
      at_ps, config_.ring.multicast_request_ps * std::min(reach, window) / window, bytes,
      transfer.flow);
  transfer.times.turn_ps = start - at_ps;
  return start;
}

void Ring::ReadMulticast(Multicast& multicast) {
  const int first = __builtin_ctz(multicast.arrived);
  tlm::tlm_generic_payload& read = multicast.read.Prepare(
      tlm::TLM_READ_COMMAND, multicast.address, multicast.members[first].data, multicast.bytes);
  multicast.read.info.stop = static_cast<uint16_t>(first);
  // The farthest member's request comes last.
  const uint64_t arrives_ps = AfterHops(multicast.end.joined_ps, stops_ / 2);
  const uint64_t at_memory_ps = Admit(multicast.read.info, multicast.bytes, arrives_ps);
  multicast.end.times.at_memory_ps = at_memory_ps;
  multicast.end.times.turn_ps = multicast.read.info.times.turn_ps;
  memory_socket.Send(read, Ps(at_memory_ps - NowPs()));
}

void Ring::Multicast::Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) {
  end.times.memory_ps = done_ps;
  end.times.unloaded_ps = read.info.times.unloaded_ps;
  ring->EndMulticast(*this, payload.get_response_status(), done_ps);
}

// A member that hears of an end may join the next multicast, which may end at once: its members
// wait until those of this one have been told.
void Ring::EndMulticast(Multicast& multicast, tlm::tlm_response_status status, uint64_t done_ps) {
  multicast.end.status = status;
  multicast.end.done_ps = done_ps;
  ended_.push_back(&multicast);
  if (ended_.size() > 1) return;
  for (size_t i = 0; i < ended_.size(); ++i) TellMembers(*ended_[i]);
  free_multicasts_.insert(free_multicasts_.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void Ring::TellMembers(const Multicast& multicast) {
  // They have not been touched for long.
  ForEachStop(multicast.arrived,
              [&](int stop) { __builtin_prefetch(multicast.members[stop].place, 1); });
  MulticastEnd end = multicast.end;
  bool ok = end.status == tlm::TLM_OK_RESPONSE;
  if (ok) {
    Copy(multicast);
    const auto members = static_cast<size_t>(__builtin_popcount(multicast.arrived));
    ok = Deliver(multicast.arrived, multicast.bytes, MulticastCycles(multicast.bytes, members),
                 end.done_ps, multicast.read.info);
    if (!ok) end.status = tlm::TLM_BURST_ERROR_RESPONSE;
    end.times.stretched = 1 - 1 / stretch_[members];
    SpendToMemory(end.path, end.times);
  }
  ForEachStop(multicast.arrived, [&](int stop) {
    const Multicast::Member& member = multicast.members[stop];
    if (ok) {
      end.done_ps = delivered_ps_[stop];
      end.times.hops_ps = HopsPs(Distance(memory_stop_, stop, delivered_clockwise_));
    }
    member.member->MulticastEnded(member.place, end);
  });
}

// Memory has brought the data to one member; the others get them from there.
void Ring::Copy(const Multicast& multicast) {
  const Transfer& info = multicast.read.info;
  if (!info.move_data || (multicast.arrived & (multicast.arrived - 1)) == 0) return;
  const uint8_t* const first = multicast.read.Prepared().get_data_ptr();
  multicast.pieces.ForEach(multicast.bytes, [&](uint64_t offset, uint64_t bytes) {
    const uint64_t at = multicast.pieces.At(offset);
    copies_.clear();
    ForEachStop(multicast.arrived,
                [&](int stop) { copies_.push_back(multicast.members[stop].data + at); });
    if (info.functional != nullptr) {
      info.functional->Broadcast(first + at, bytes, copies_.data(), copies_.size());
      return;
    }
    for (uint8_t* to : copies_) std::memmove(to, first + at, bytes);
  });
}

void Ring::AbandonMulticasts(uint32_t cores) {
  std::vector<Multicast*> abandoned;
  for (auto& [mask, group] : groups_) {
    if ((mask & cores) == 0) continue;
    abandoned.insert(abandoned.end(), group.assembling.begin(), group.assembling.end());
    group = {};
    group.mask = mask;
  }
  for (Multicast* multicast : abandoned) {
    multicast->end.joined_ps = 0;
    EndMulticast(*multicast, tlm::TLM_GENERIC_ERROR_RESPONSE, NowPs());
  }
}

uint64_t Ring::MulticastCycles(uint64_t bytes, size_t members) const {
  return static_cast<uint64_t>(static_cast<double>(DataCycles(bytes)) * stretch_[members]);
}

// One way round, past all members; each taps the data as it goes by. The way is the one that has
// the data at its last member first, so that multicasts use both.
bool Ring::Deliver(uint32_t group, uint64_t bytes, uint64_t cycles, uint64_t data_ps,
                   const Transfer& transfer) {
  // Clockwise from the memory stop come core 0 and those after it.
  const auto farthest = [&](bool forward) {
    return forward ? Distance(memory_stop_, 31 - __builtin_clz(group), true)
                   : Distance(memory_stop_, __builtin_ctz(group), false);
  };
  uint64_t head = clock_.CycleAt(data_ps);
  const auto arrival = [&](bool forward) {
    const Resource& first = (forward ? clockwise_ : counter_)[memory_stop_];
    return std::max(head, first.free_cycle()) +
           static_cast<uint64_t>(farthest(forward)) * config_.ring.hop_cycles;
  };
  const bool forward = arrival(true) <= arrival(false);
  delivered_clockwise_ = forward;
  std::fill(delivered_ps_.begin(), delivered_ps_.end(), 0);
  std::vector<Resource>& links = forward ? clockwise_ : counter_;
  if (faults_.injector != nullptr &&
      !Crosses(links, forward, memory_stop_, farthest(forward), data_ps, cycles, transfer))
    return false;
  int stop = memory_stop_;
  for (int hop = farthest(forward); hop > 0; --hop) {
    head = Pass(links[stop], head, cycles, bytes, transfer.flow);
    stop = Next(stop, forward);
    if ((group >> stop & 1) != 0) delivered_ps_[stop] = clock_.Edge(head + cycles);
  }
  return true;
}

}  // namespace spyre::model
