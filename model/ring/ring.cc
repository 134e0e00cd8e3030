// SPDX-License-Identifier: Apache-2.0
#include "model/ring/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace spyre::model {

namespace {
void AddLinks(std::vector<Resource>& links, const Clock& clock, int count, bool contended,
              const char* kind, trace::Recorder* recorder) {
  for (int i = 0; i < count; ++i) {
    links.emplace_back(fmt::format("ring.{}{:02}", kind, i), clock, contended);
    links.back().TraceTo(recorder, trace::kRing, "ring", fmt::format("link {} {:02}", kind, i),
                         "burst");
  }
}
}  // namespace

Ring::Ring(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      stops_(static_cast<int>(config.cores) + 1),
      memory_stop_(static_cast<int>(config.cores)),
      clock_(config.clock.ring_mhz),
      by_link_bytes_(config.ring.bytes_per_cycle),
      by_link_percent_(config.ring.link_percent) {
  AddLinks(clockwise_, clock_, stops_, config.timed(), "cw", recorder);
  AddLinks(counter_, clock_, stops_, config.timed(), "ccw", recorder);
  AddLinks(psum_clockwise_, clock_, stops_, config.timed(), "psum_cw", recorder);
  AddLinks(psum_counter_, clock_, stops_, config.timed(), "psum_ccw", recorder);
  delivered_ps_.resize(stops_);
  // Groups beyond the cohort take longer, each flit.
  const auto cohort = static_cast<double>(config.ring.multicast_cohort);
  const double exponent = static_cast<double>(config.ring.multicast_exponent_percent) / 100;
  for (uint64_t members = 0; members <= config.cores; ++members) {
    stretch_.push_back(members <= config.ring.multicast_cohort
                           ? 1.0
                           : std::pow(static_cast<double>(members) / cohort, exponent));
  }
  core_socket.register_nb_transport_fw(this, &Ring::Begin);
  core_socket.register_b_transport(this, &Ring::SendToPeer);
}

std::vector<UnitStatistics> Ring::Statistics() const {
  std::vector<UnitStatistics> all;
  for (const auto* links : {&clockwise_, &counter_, &psum_clockwise_, &psum_counter_}) {
    for (const Resource& link : *links) all.push_back(link.statistics());
  }
  return all;
}

template <class T>
T* Ring::Take(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& free) {
  if (free.empty()) {
    all.push_back(std::make_unique<T>());
    all.back()->ring = this;
    free.push_back(all.back().get());
  }
  T* const taken = free.back();
  free.pop_back();
  return taken;
}

void Ring::AbandonMulticasts() {
  const auto abandoned = std::move(assembling_);
  assembling_.clear();
  for (const auto& [group, queue] : abandoned) {
    for (Multicast* multicast : queue) {
      free_multicasts_.push_back(multicast);
      for (tlm::tlm_generic_payload* member : multicast->members) {
        member->set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        Respond(*member, NowPs());
      }
    }
  }
}

void Ring::Respond(tlm::tlm_generic_payload& payload, uint64_t done_ps) {
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = Ps(done_ps - std::min(done_ps, NowPs()));
  core_socket[payload.get_extension<Transfer>()->port]->nb_transport_bw(payload, phase, delay);
}

int Ring::Distance(int from, int to, bool clockwise) const {
  const int forward = (to - from + stops_) % stops_;
  return clockwise ? forward : (stops_ - forward) % stops_;
}

int Ring::Hops(int core) const {
  return std::min(Distance(core, memory_stop_, true), Distance(core, memory_stop_, false));
}

uint64_t Ring::DataCycles(uint64_t bytes) const {
  return by_link_percent_.RoundedUp(by_link_bytes_.RoundedUp(bytes) * 100);
}

uint64_t Ring::MulticastCycles(uint64_t bytes, size_t members) const {
  return static_cast<uint64_t>(static_cast<double>(DataCycles(bytes)) * stretch_[members]);
}

// Wormhole: the head takes each link in turn, the tail follows.
uint64_t Ring::Travel(std::vector<Resource>& links, bool clockwise, int from, int to,
                      uint64_t bytes, uint64_t cycles, uint64_t start_ps, uint64_t flow) {
  uint64_t head = clock_.CycleAt(start_ps);
  for (int stop = from; stop != to; stop = Next(stop, clockwise))
    head = Pass(links[stop], head, cycles, bytes, flow);
  return clock_.Edge(head + cycles);
}

tlm::tlm_sync_enum Ring::Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                               sc_core::sc_time& delay) {
  auto& transfer = *payload.get_extension<Transfer>();
  transfer.port = static_cast<uint16_t>(id);
  if (transfer.group != 0 && payload.is_read()) {
    JoinMulticast(payload, transfer, delay);
  } else {
    BeginUnicast(payload, transfer, delay);
  }
  return tlm::TLM_ACCEPTED;
}

void Ring::Passage::Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t done_ps) {
  ring->EndUnicast(*this, done_ps);
}

void Ring::Multicast::Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t done_ps) {
  ring->EndMulticast(*this, done_ps);
}

void Ring::BeginUnicast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                        const sc_core::sc_time& delay) {
  const uint64_t now = NowPs();
  const int core = transfer.stop;
  uint64_t at_memory;
  if (payload.is_write()) {
    const uint64_t bytes = payload.get_data_length();
    // The shorter way round, unless its last link, where all meet, is backed up.
    const uint64_t start = now + delay.value();
    const auto arrival = [&](bool clockwise) {
      const int last = Next(memory_stop_, !clockwise);
      const uint64_t free = (clockwise ? clockwise_ : counter_)[last].free_ps();
      return std::max(free, AfterHops(start, Distance(core, memory_stop_, clockwise)));
    };
    const bool shorter = ShorterClockwise(core, memory_stop_);
    const bool detour = arrival(!shorter) + config_.ring.detour_ns * 1000 < arrival(shorter);
    const bool clockwise = detour ? !shorter : shorter;
    at_memory = Travel(clockwise ? clockwise_ : counter_, clockwise, core, memory_stop_, bytes,
                       DataCycles(bytes), start, transfer.flow);
  } else {
    at_memory = AfterHops(now + delay.value(), Hops(core));  // request ring
  }
  Passage& passage = *Take(passages_, free_passages_);
  passage.payload = &payload;
  passage.requester = transfer.client;
  payload.get_extension<Transfer>()->client = &passage;
  memory_socket.Send(payload, Ps(at_memory - now));
}

void Ring::EndUnicast(Passage& passage, uint64_t memory_done_ps) {
  tlm::tlm_generic_payload& payload = *passage.payload;
  auto& transfer = *payload.get_extension<Transfer>();
  transfer.client = passage.requester;
  free_passages_.push_back(&passage);
  uint64_t done = memory_done_ps;
  if (payload.is_write()) {
    done = AfterHops(done, Hops(transfer.stop));  // acknowledgement on the request ring
  } else if (payload.is_response_ok()) {
    const uint64_t bytes = payload.get_data_length();
    const bool clockwise = ShorterClockwise(memory_stop_, transfer.stop);
    done = Travel(clockwise ? clockwise_ : counter_, clockwise, memory_stop_, transfer.stop, bytes,
                  DataCycles(bytes), memory_done_ps, transfer.flow);
  }
  Respond(payload, done);
}

void Ring::JoinMulticast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                         const sc_core::sc_time& delay) {
  auto& queue = assembling_[transfer.group];
  const uint32_t self = transfer.stop == memory_stop_ ? 0 : 1u << transfer.stop;
  const auto joins = std::find_if(queue.begin(), queue.end(), [self](const Multicast* multicast) {
    return (multicast->arrived & self) == 0;
  });
  Multicast* multicast = joins == queue.end() ? nullptr : *joins;
  if (multicast == nullptr) {
    multicast = Take(multicasts_, free_multicasts_);
    multicast->group = transfer.group;
    multicast->arrived = 0;
    multicast->mismatch = false;
    multicast->members.clear();
    queue.push_back(multicast);
  } else {
    const tlm::tlm_generic_payload& first = *multicast->members.front();
    multicast->mismatch |= first.get_address() != payload.get_address() ||
                           first.get_data_length() != payload.get_data_length();
  }
  multicast->members.push_back(&payload);
  multicast->arrived |= self;

  // The control processor broadcasts on its own; cores wait until the last of them asks.
  if (self != 0 && multicast->arrived != transfer.group) return;
  queue.erase(std::find(queue.begin(), queue.end(), multicast));
  for (tlm::tlm_generic_payload* member : multicast->members) {
    auto& joined = *member->get_extension<Transfer>();
    joined.joined_ps = NowPs();
    joined.last_stop = transfer.stop;
  }
  if (multicast->mismatch) {
    free_multicasts_.push_back(multicast);
    for (tlm::tlm_generic_payload* member : std::vector(multicast->members)) {
      member->set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
      Respond(*member, NowPs());
    }
    return;
  }
  tlm::tlm_generic_payload& read =
      multicast->read.Prepare(tlm::TLM_READ_COMMAND, payload.get_address(), payload.get_data_ptr(),
                              payload.get_data_length());
  multicast->read.info = transfer;
  multicast->read.info.client = multicast;
  // The farthest member's request comes last.
  memory_socket.Send(read, Ps(AfterHops(NowPs() + delay.value(), stops_ / 2) - NowPs()));
}

void Ring::EndMulticast(Multicast& multicast, uint64_t memory_done_ps) {
  const tlm::tlm_generic_payload& read = multicast.read.Prepared();
  if (read.is_response_ok()) {
    Copy(multicast);
    Deliver(multicast, memory_done_ps);
  }
  for (tlm::tlm_generic_payload* member : multicast.members) {
    const auto& transfer = *member->get_extension<Transfer>();
    member->set_response_status(read.get_response_status());
    uint64_t done = memory_done_ps;
    if (read.is_response_ok()) {
      done = transfer.stop == memory_stop_
                 ? *std::max_element(delivered_ps_.begin(), delivered_ps_.end())
                 : delivered_ps_[transfer.stop];
    }
    Respond(*member, done);
  }
  free_multicasts_.push_back(&multicast);
}

// Memory has brought the data to one member; the others get them from there.
void Ring::Copy(const Multicast& multicast) {
  const Transfer& info = multicast.read.info;
  if (!info.move_data || multicast.members.size() == 1) return;
  const uint8_t* const from = multicast.read.Prepared().get_data_ptr();
  const uint64_t bytes = multicast.read.Prepared().get_data_length();
  copies_.clear();
  for (const tlm::tlm_generic_payload* member : multicast.members)
    copies_.push_back(member->get_data_ptr());
  if (info.functional != nullptr) {
    info.functional->Broadcast(from, bytes, copies_.data(), copies_.size());
    return;
  }
  for (uint8_t* to : copies_) std::memmove(to, from, bytes);
}

// One way round, past all members; each taps the data as it goes by. The way is the one that has
// the data at its last member first, so that multicasts use both.
void Ring::Deliver(const Multicast& multicast, uint64_t data_ps) {
  const uint64_t bytes = multicast.members.front()->get_data_length();
  const uint64_t cycles = MulticastCycles(bytes, multicast.members.size());
  // Clockwise from the memory stop come core 0 and those after it.
  const auto farthest = [&](bool forward) {
    return forward ? Distance(memory_stop_, 31 - __builtin_clz(multicast.group), true)
                   : Distance(memory_stop_, __builtin_ctz(multicast.group), false);
  };
  const auto arrival = [&](bool forward) {
    const Resource& first = (forward ? clockwise_ : counter_)[memory_stop_];
    return AfterHops(std::max(data_ps, first.free_ps()), farthest(forward));
  };
  const bool forward = arrival(true) <= arrival(false);
  std::fill(delivered_ps_.begin(), delivered_ps_.end(), 0);
  std::vector<Resource>& links = forward ? clockwise_ : counter_;
  uint64_t head = clock_.CycleAt(data_ps);
  int stop = memory_stop_;
  for (int hop = farthest(forward); hop > 0; --hop) {
    head = Pass(links[stop], head, cycles, bytes, multicast.read.info.flow);
    stop = Next(stop, forward);
    if ((multicast.group >> stop & 1) != 0) delivered_ps_[stop] = clock_.Edge(head + cycles);
  }
}

void Ring::SendToPeer(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto& transfer = *payload.get_extension<Transfer>();
  const uint64_t now = NowPs();
  const int peer = static_cast<int>(payload.get_address() >> 32 & 0xFFFF);
  if ((payload.get_address() & kPeerBit) == 0 || peer >= memory_stop_) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const uint64_t bytes = payload.get_data_length();
  const uint64_t width = config_.ring.psum_bytes_per_cycle;
  const bool clockwise = ShorterClockwise(transfer.stop, peer);
  delay = Ps(Travel(clockwise ? psum_clockwise_ : psum_counter_, clockwise, transfer.stop, peer,
                    bytes, (bytes + width - 1) / width, now + delay.value(), transfer.flow) -
             now);
  payload.set_address(payload.get_address() & 0xFFFFFFFF);
  lx_socket[peer]->b_transport(payload, delay);
}

}  // namespace spyre::model
