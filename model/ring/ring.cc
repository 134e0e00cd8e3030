// SPDX-License-Identifier: Apache-2.0
#include "model/ring/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/common/ring_links.h"

namespace spyre::model {

namespace {
void AddLinks(std::vector<Resource>& links, const Clock& clock, int count, bool contended,
              const char* kind, trace::Recorder* recorder) {
  for (int i = 0; i < count; ++i) {
    links.emplace_back("ring." + RingLinkName(kind, static_cast<uint64_t>(i)), clock, contended);
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
      hop_cycle_ps_(clock_.Edge(1)),
      by_link_bytes_(config.ring.bytes_per_cycle),
      by_link_percent_(config.ring.link_percent),
      memory_stop_turns_("ring.memory_stop", Clock(1000000), config.timed()) {
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
  SC_HAS_PROCESS(Ring);
  SC_METHOD(SendWrites);
  sensitive << write_event_;
  dont_initialize();
  SC_METHOD(TakeTurns);
  sensitive << turn_event_;
  dont_initialize();
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

void Ring::Respond(tlm::tlm_generic_payload& payload, const Transfer& transfer, uint64_t done_ps) {
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = Ps(done_ps - std::min(done_ps, NowPs()));
  core_socket[transfer.port]->nb_transport_bw(payload, phase, delay);
}

int Ring::Distance(int from, int to, bool clockwise) const {
  const int hops = clockwise ? to - from : from - to;
  return hops < 0 ? hops + stops_ : hops;
}

int Ring::Hops(int core) const {
  return std::min(Distance(core, memory_stop_, true), Distance(core, memory_stop_, false));
}

uint64_t Ring::DataCycles(uint64_t bytes) const {
  return by_link_percent_.RoundedUp(by_link_bytes_.RoundedUp(bytes) * 100);
}

// Wormhole: the head takes each link in turn, the tail follows.
uint64_t Ring::Travel(std::vector<Resource>& links, bool clockwise, int from, int to,
                      uint64_t bytes, uint64_t cycles, uint64_t start_ps,
                      const Transfer& transfer) {
  if (faults_.injector != nullptr &&
      !Crosses(links, clockwise, from, Distance(from, to, clockwise), start_ps, cycles, transfer))
    return kLost;
  uint64_t head = clock_.CycleAt(start_ps);
  for (int stop = from; stop != to; stop = Next(stop, clockwise))
    head = Pass(links[stop], head, cycles, bytes, transfer.flow);
  return clock_.Edge(head + cycles);
}

bool Ring::Crosses(std::vector<Resource>& links, bool clockwise, int from, int hops,
                   uint64_t start_ps, uint64_t cycles, const Transfer& transfer) {
  uint64_t head = clock_.CycleAt(start_ps);
  int stop = from;
  for (int hop = 0; hop < hops; ++hop, stop = Next(stop, clockwise)) {
    Resource& link = links[stop];
    const std::string& name = link.statistics().name;
    FaultEvent event;
    event.link = std::string_view(name).substr(name.find('.') + 1);
    event.function = transfer.function;
    if (transfer.flow != 0) event.operation = transfer.flow;
    Injection* const injection = faults_.injector->Strike(FaultSite::kRing, event, NowPs());
    const auto report = [&](RasCode code, RasSeverity severity, uint32_t detail) {
      faults_.errors->Report(
          {code, severity, transfer.function, {static_cast<uint32_t>(stop), detail}});
    };
    if (injection != nullptr && injection->kind() == FaultKind::kRingDead) dead_.insert(name);
    if (injection != nullptr && injection->kind() == FaultKind::kRingRetry) {
      link.ReserveCycles(head, cycles + config_.ring.retry_cycles, 0, transfer.flow);
      FaultInjector::Corrected(*injection, "the ring link", NowPs());
      report(RasCode::RING_RETRY, RasSeverity::CORRECTED, 1);
    }
    if (dead_.count(name) != 0) {
      if (injection != nullptr) FaultInjector::Detected(*injection, "the ring", NowPs());
      report(RasCode::RING_DEAD, RasSeverity::NON_FATAL, transfer.stop);
      return false;
    }
    head += config_.ring.hop_cycles;
  }
  return true;
}

tlm::tlm_sync_enum Ring::Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                               sc_core::sc_time& delay) {
  auto* const extension = payload.get_extension<Transfer>();
  if (extension == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  Transfer& transfer = *extension;
  transfer.port = static_cast<uint16_t>(id);
  if (payload.is_read()) {
    BeginRead(payload, transfer, delay);
  } else {
    BeginWrite(payload, transfer, delay);
  }
  return tlm::TLM_ACCEPTED;
}

void Ring::Passage::Complete(tlm::tlm_generic_payload& /*payload*/, uint64_t done_ps) {
  ring->EndUnicast(*this, done_ps);
}

void Ring::BeginRead(tlm::tlm_generic_payload& payload, Transfer& transfer,
                     const sc_core::sc_time& delay) {
  if (transfer.takes_turn) {
    turns_.push_back({NowPs() + delay.value(), transfer.stop, ++joins_, nullptr, &payload});
    turn_event_.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  // Of a broadcast, the farthest member's request comes last.
  const int hops = transfer.group != 0 ? stops_ / 2 : Hops(transfer.stop);
  SendToMemory(payload, transfer, AfterHops(NowPs() + delay.value(), hops));
}

void Ring::BeginWrite(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                      const sc_core::sc_time& delay) {
  const uint64_t start = NowPs() + delay.value();
  const bool first = writes_.empty() || start < std::get<0>(writes_.top());
  writes_.emplace(start, transfer.stop, submitted_writes_++, &payload);
  if (first) write_event_.notify(delay);
}

// Whoever submits a write that arrives now does so in the first delta cycle of this time.
void Ring::SendWrites() {
  const uint64_t now = NowPs();
  if (settled_ps_ != now) {
    settled_ps_ = now;
    write_event_.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  while (!writes_.empty() && std::get<0>(writes_.top()) <= now) {
    tlm::tlm_generic_payload& payload = *std::get<3>(writes_.top());
    writes_.pop();
    auto& transfer = *payload.get_extension<Transfer>();
    const uint64_t there = TravelToMemory(transfer, payload.get_data_length(), now);
    if (there != kLost) {
      SendToMemory(payload, transfer, there);
    } else {
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
      Respond(payload, transfer, now);
    }
  }
  if (!writes_.empty()) write_event_.notify(Ps(std::get<0>(writes_.top()) - now));
}

// The shorter way round, unless its last link, where all meet, is backed up.
uint64_t Ring::TravelToMemory(const Transfer& transfer, uint64_t bytes, uint64_t start_ps) {
  const int core = transfer.stop;
  const uint64_t start_cycle = clock_.CycleAt(start_ps);
  const auto arrival = [&](bool clockwise) {
    const int last = Next(memory_stop_, !clockwise);
    const auto hops = static_cast<uint64_t>(Distance(core, memory_stop_, clockwise));
    const uint64_t free = (clockwise ? clockwise_ : counter_)[last].free_cycle();
    return clock_.Edge(std::max(free, start_cycle + hops * config_.ring.hop_cycles));
  };
  const bool shorter = ShorterClockwise(core, memory_stop_);
  const bool detour = arrival(!shorter) + config_.ring.detour_ns * 1000 < arrival(shorter);
  const bool clockwise = detour ? !shorter : shorter;
  return Travel(clockwise ? clockwise_ : counter_, clockwise, core, memory_stop_, bytes,
                DataCycles(bytes), start_ps, transfer);
}

void Ring::SendToMemory(tlm::tlm_generic_payload& payload, Transfer& transfer,
                        uint64_t at_memory_ps) {
  Passage& passage = *Take(passages_, free_passages_);
  passage.payload = &payload;
  passage.requester = transfer.client;
  transfer.times.at_memory_ps = at_memory_ps;
  transfer.client = &passage;
  memory_socket.Send(payload, Ps(at_memory_ps - NowPs()));
}

void Ring::EndUnicast(Passage& passage, uint64_t memory_done_ps) {
  tlm::tlm_generic_payload& payload = *passage.payload;
  auto& transfer = *payload.get_extension<Transfer>();
  transfer.client = passage.requester;
  free_passages_.push_back(&passage);
  transfer.times.memory_ps = memory_done_ps;
  transfer.times.hops_ps = HopsPs(transfer.group != 0 ? stops_ / 2 : Hops(transfer.stop));
  uint64_t done = memory_done_ps;
  if (payload.is_write()) {
    done = AfterHops(done, Hops(transfer.stop));  // acknowledgement on the request ring
  } else if (payload.is_response_ok() && transfer.group != 0) {
    const uint64_t bytes = payload.get_data_length();
    if (Deliver(transfer.group, bytes, DataCycles(bytes), memory_done_ps, transfer)) {
      done = *std::max_element(delivered_ps_.begin(), delivered_ps_.end());
    } else {
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    }
  } else if (payload.is_response_ok()) {
    const uint64_t bytes = payload.get_data_length();
    const bool clockwise = ShorterClockwise(memory_stop_, transfer.stop);
    done = Travel(clockwise ? clockwise_ : counter_, clockwise, memory_stop_, transfer.stop, bytes,
                  DataCycles(bytes), memory_done_ps, transfer);
    if (done == kLost) {
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
      done = memory_done_ps;
    }
  }
  Respond(payload, transfer, done);
}

void Ring::SendToPeer(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (payload.get_extension<Transfer>() == nullptr) {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return;
  }
  const int peer = static_cast<int>(payload.get_address() >> 32 & 0xFFFF);
  if ((payload.get_address() & kPeerBit) == 0 || peer >= memory_stop_) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  messages_.push_back({NowPs() + delay.value(), &payload, &delay});
  // Cores that a barrier lets go send in the same delta cycle. The first of them to go on sends
  // all.
  sc_core::wait(sc_core::SC_ZERO_TIME);
  SendMessages();
}

void Ring::SendMessages() {
  const auto stop = [](const Message& message) {
    return message.payload->get_extension<Transfer>()->stop;
  };
  std::sort(messages_.begin(), messages_.end(), [&](const Message& a, const Message& b) {
    return std::make_pair(a.start_ps, stop(a)) < std::make_pair(b.start_ps, stop(b));
  });
  for (const Message& message : std::exchange(messages_, {})) SendMessage(message);
}

void Ring::SendMessage(const Message& message) {
  tlm::tlm_generic_payload& payload = *message.payload;
  const auto& transfer = *payload.get_extension<Transfer>();
  const int peer = static_cast<int>(payload.get_address() >> 32 & 0xFFFF);
  const uint64_t bytes = payload.get_data_length();
  const uint64_t width = config_.ring.psum_bytes_per_cycle;
  const bool clockwise = ShorterClockwise(transfer.stop, peer);
  const uint64_t there =
      Travel(clockwise ? psum_clockwise_ : psum_counter_, clockwise, transfer.stop, peer, bytes,
             (bytes + width - 1) / width, message.start_ps, transfer);
  if (there == kLost) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  *message.delay = Ps(there - NowPs());
  payload.set_address(payload.get_address() & 0xFFFFFFFF);
  lx_socket[peer]->b_transport(payload, *message.delay);
}

}  // namespace spyre::model
