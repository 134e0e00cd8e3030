#include "model/ring/ring.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::model {

namespace {
void AddLinks(std::vector<Resource>& links, int count, bool contended, const char* kind,
              trace::Recorder* recorder) {
  for (int i = 0; i < count; ++i) {
    links.emplace_back(fmt::format("ring.{}{:02}", kind, i), contended);
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
      hop_ps_(CyclesToPs(config.ring.hop_cycles, config.clock.ring_mhz)) {
  AddLinks(clockwise_, stops_, config.timed(), "cw", recorder);
  AddLinks(counter_, stops_, config.timed(), "ccw", recorder);
  AddLinks(psum_clockwise_, stops_, config.timed(), "psum_cw", recorder);
  AddLinks(psum_counter_, stops_, config.timed(), "psum_ccw", recorder);
  for (uint64_t i = 0; i < config.ring.memory_ports; ++i) {
    memory_ports_.emplace_back(fmt::format("ring.memory_port{}", i), config.timed());
  }
  core_socket.register_b_transport(this, &Ring::Transport);
}

std::vector<UnitStatistics> Ring::Statistics() const {
  std::vector<UnitStatistics> all;
  for (const auto* links :
       {&memory_ports_, &clockwise_, &counter_, &psum_clockwise_, &psum_counter_}) {
    for (const Resource& link : *links) all.push_back(link.statistics());
  }
  return all;
}

void Ring::AbandonMulticasts() {
  for (auto& [group, queue] : multicasts_) {
    for (const auto& multicast : queue) multicast->event.notify();
  }
  multicasts_.clear();
}

int Ring::Distance(int from, int to, bool clockwise) const {
  const int forward = (to - from + stops_) % stops_;
  return clockwise ? forward : (stops_ - forward) % stops_;
}

// Wormhole: the head takes each link of the shorter way in turn, the tail follows at link width.
uint64_t Ring::Travel(std::vector<Resource>& clockwise, std::vector<Resource>& counter, int from,
                      int to, uint64_t bytes, uint64_t width, uint64_t start_ps, uint64_t flow) {
  const bool forward = Distance(from, to, true) <= Distance(from, to, false);
  const uint64_t occupancy = TransferPs(bytes, width, config_.clock.ring_mhz);
  uint64_t head = start_ps;
  for (int stop = from; stop != to; stop = (stop + (forward ? 1 : stops_ - 1)) % stops_) {
    head = (forward ? clockwise : counter)[stop].Reserve(head, occupancy, bytes, flow) + hop_ps_;
  }
  return head + occupancy;
}

uint64_t Ring::MemoryPort(uint64_t bytes, uint64_t start_ps, uint64_t flow) {
  Resource* port = &memory_ports_[0];
  for (Resource& other : memory_ports_) {
    if (other.free_ps() < port->free_ps()) port = &other;
  }
  const uint64_t occupancy =
      TransferPs(bytes, config_.ring.bytes_per_cycle, config_.clock.ring_mhz);
  return port->Reserve(start_ps, occupancy, bytes, flow);
}

void Ring::Transport(int /*id*/, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  auto& transfer = *payload.get_extension<Transfer>();
  if ((payload.get_address() & kPeerBit) != 0) {
    SendToPeer(payload, transfer, delay);
  } else if (transfer.group != 0 && payload.is_read()) {
    ReadMulticast(payload, transfer, delay);
  } else {
    Unicast(payload, transfer, delay);
  }
}

void Ring::Unicast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                   sc_core::sc_time& delay) {
  const uint64_t now = NowPs();
  const uint64_t bytes = payload.get_data_length();
  const int core = transfer.stop;
  const int hops =
      std::min(Distance(core, memory_stop_, true), Distance(core, memory_stop_, false));
  if (payload.is_write()) {
    const uint64_t at_memory =
        Travel(clockwise_, counter_, core, memory_stop_, bytes, config_.ring.bytes_per_cycle,
               now + delay.value(), transfer.flow);
    delay = Ps(MemoryPort(bytes, at_memory, transfer.flow) - now);
    memory_socket->b_transport(payload, delay);
    delay += Ps(HopPs(hops));  // acknowledgement on the request ring
    return;
  }
  delay += Ps(HopPs(hops));  // request ring
  memory_socket->b_transport(payload, delay);
  const uint64_t port = MemoryPort(bytes, now + delay.value(), transfer.flow);
  delay = Ps(Travel(clockwise_, counter_, memory_stop_, core, bytes, config_.ring.bytes_per_cycle,
                    port, transfer.flow) -
             now);
}

// Both ways round at once: each link passes the data once, each member taps it as it goes by.
void Ring::Deliver(Multicast& multicast, uint32_t group, uint64_t data_ps, uint64_t flow) {
  const uint64_t occupancy =
      TransferPs(multicast.bytes, config_.ring.bytes_per_cycle, config_.clock.ring_mhz);
  const uint64_t start = MemoryPort(multicast.bytes, data_ps, flow);
  for (const bool forward : {true, false}) {
    int farthest = 0;
    for (int core = 0; core < memory_stop_; ++core) {
      if ((group >> core & 1) == 0) continue;
      const int there = Distance(memory_stop_, core, forward);
      if (there <= Distance(memory_stop_, core, !forward)) farthest = std::max(farthest, there);
    }
    uint64_t head = start;
    int stop = memory_stop_;
    for (int hop = 0; hop < farthest; ++hop) {
      head =
          (forward ? clockwise_ : counter_)[stop].Reserve(head, occupancy, multicast.bytes, flow) +
          hop_ps_;
      stop = (stop + (forward ? 1 : stops_ - 1)) % stops_;
      const bool member = (group >> stop & 1) != 0;
      const bool near =
          Distance(memory_stop_, stop, forward) <= Distance(memory_stop_, stop, !forward);
      if (member && near) multicast.done_ps[stop] = head + occupancy;
    }
  }
}

void Ring::ReadMulticast(tlm::tlm_generic_payload& payload, Transfer& transfer,
                         sc_core::sc_time& delay) {
  auto& queue = multicasts_[transfer.group];
  const uint32_t self = transfer.stop == memory_stop_ ? 0 : 1u << transfer.stop;
  std::shared_ptr<Multicast> multicast;
  for (const auto& candidate : queue) {
    if ((candidate->arrived & self) == 0) {
      multicast = candidate;
      break;
    }
  }
  if (multicast == nullptr) {
    multicast = std::make_shared<Multicast>();
    multicast->address = payload.get_address();
    multicast->bytes = payload.get_data_length();
    multicast->done_ps.assign(stops_, 0);
    queue.push_back(multicast);
  }
  multicast->mismatch |=
      multicast->address != payload.get_address() || multicast->bytes != payload.get_data_length();
  multicast->arrived |= self;

  // The control processor broadcasts on its own; cores wait until the last of them asks.
  if (self == 0 || multicast->arrived == transfer.group) {
    queue.erase(std::find(queue.begin(), queue.end(), multicast));
    const uint64_t now = NowPs();
    sc_core::sc_time access = delay + Ps(HopPs(stops_ / 2));  // the farthest member's request
    memory_socket->b_transport(payload, access);
    multicast->status =
        multicast->mismatch ? tlm::TLM_COMMAND_ERROR_RESPONSE : payload.get_response_status();
    Deliver(*multicast, transfer.group, now + access.value(), transfer.flow);
    multicast->complete = true;
    multicast->event.notify();
  } else {
    while (!multicast->complete) {
      if (*transfer.aborted) {
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return;
      }
      wait(multicast->event);
    }
    if (transfer.move_data && multicast->status == tlm::TLM_OK_RESPONSE)
      memory_socket->transport_dbg(payload);
  }
  payload.set_response_status(multicast->status);
  const uint64_t done =
      self == 0 ? *std::max_element(multicast->done_ps.begin(), multicast->done_ps.end())
                : multicast->done_ps[transfer.stop];
  delay = Ps(done - std::min(done, NowPs()));
}

void Ring::SendToPeer(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                      sc_core::sc_time& delay) {
  const uint64_t now = NowPs();
  const int peer = static_cast<int>(payload.get_address() >> 32 & 0xFFFF);
  if (peer >= memory_stop_) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  delay = Ps(Travel(psum_clockwise_, psum_counter_, transfer.stop, peer, payload.get_data_length(),
                    config_.ring.psum_bytes_per_cycle, now + delay.value(), transfer.flow) -
             now);
  payload.set_address(payload.get_address() & 0xFFFFFFFF);
  lx_socket[peer]->b_transport(payload, delay);
}

}  // namespace spyre::model
