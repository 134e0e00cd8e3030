// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/collective_time.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace spyre::cosim {
namespace {

constexpr double kBurstBytes = 4096;  // that a DMA engine asks for at once

double Number(uint64_t value) { return static_cast<double>(value); }

// Posted writes between two cards.
struct Link {
  Link(const model::PcieConfig& pcie, const model::SwitchConfig& pcie_switch) {
    constexpr double kBitsPerByte = 8;
    const double bytes_per_ns = Number(pcie.lanes * pcie.rate_mts) * 128 / 130 / kBitsPerByte / 1e3;
    const double payload = Number(pcie.max_payload_bytes);
    const double packet =
        payload + Number(pcie.header_bytes + pcie.framing_bytes + pcie.dllp_bytes);
    wire = bytes_per_ns * payload / packet;
    // What a card can have on its way to it: until the credits of a packet are back, it has gone
    // over the wire, been taken, and its credits been returned.
    const double credits =
        std::min(Number(pcie.card_posted_headers) * payload, Number(pcie.card_posted_data) * 16);
    const double round_ns = packet / bytes_per_ns + Number(pcie.one_way_ns + pcie.credit_return_ns);
    into_card = std::min(wire, credits / round_ns);
    switch_bytes =
        std::min(Number(pcie.host_posted_headers) * payload, Number(pcie.host_posted_data) * 16);
    forward_ns = Number(pcie.one_way_ns + pcie_switch.forward_ns);
    one_way_ns = Number(pcie.one_way_ns);
    uplink_ns = Number(pcie_switch.forward_ns + pcie_switch.uplink_ns);
  }

  double wire = 0;          // bytes/ns from a card to the switch
  double into_card = 0;     // from the switch to a card, which its credits may hold back
  double switch_bytes = 0;  // that the switch takes of one sender and does not have sent on yet
  double forward_ns = 0;    // from a card to the port of another one
  double one_way_ns = 0;    // from the switch to a card
  double uplink_ns = 0;     // between the host and a port of the switch
};

// The port of the switch that a card is at: what goes into the card, one behind the other.
class Port {
 public:
  // When the last of `bytes` that come to the port from then on has gone on.
  double Take(size_t sender, double begin_ns, double bytes, double bytes_per_ns) {
    const double start_ns = flows_.empty() ? begin_ns : std::max(begin_ns, flows_.back().end_ns);
    flows_.push_back({sender, begin_ns, start_ns, start_ns + bytes / bytes_per_ns});
    return flows_.back().end_ns;
  }
  // Senders whose bytes are there at that time.
  size_t Senders(double at_ns) const {
    std::set<size_t> senders;
    for (const Flow& flow : flows_)
      if (flow.come_ns <= at_ns && at_ns < flow.end_ns) senders.insert(flow.sender);
    return senders.size();
  }
  // A packet of the host that comes to the port, behind what waits there then: of each sender so
  // much at most.
  double Pass(double at_ns, double most_waiting_ns) const {
    double waiting_ns = 0;
    for (auto flow = flows_.rbegin(); flow != flows_.rend() && at_ns < flow->end_ns; ++flow) {
      if (flow->come_ns <= at_ns)
        waiting_ns += std::min(flow->end_ns - std::max(at_ns, flow->start_ns), most_waiting_ns);
    }
    return at_ns + waiting_ns;
  }

 private:
  struct Flow {
    size_t sender;
    double come_ns, start_ns, end_ns;  // at the port, and going on from there
  };
  std::vector<Flow> flows_;  // in the order of their ends
};

// The hosts of the ranks, each with a clock. Whoever is earliest goes on, so that ports see the
// packets in order of their times.
class Ranks {
 public:
  Ranks(const runtime::CollectivePlan& plan, const CollectiveTerms& terms)
      : terms_(terms),
        link_(terms.card.pcie, terms.pcie_switch),
        ports_(plan.ranks),
        parts_(plan.ranks),
        times_(plan.ranks) {
    for (const auto& round : plan.rounds) {
      for (const runtime::CollectiveStep& step : round)
        parts_[step.from].push_back({&step, /*sends=*/true});
      for (const runtime::CollectiveStep& step : round)
        parts_[step.to].push_back({&step, /*sends=*/false});
    }
  }

  std::vector<RankTime> Run() {
    for (std::optional<size_t> rank = Earliest(); rank; rank = Earliest()) {
      const Part part = parts_[*rank].front();
      parts_[*rank].pop_front();
      if (part.sends) {
        told_ns_[part.step] = Send(*part.step);
      } else {
        Take(*part.step, told_ns_.at(part.step));
      }
    }
    return std::move(times_);
  }

 private:
  // What a rank does for a step.
  struct Part {
    const runtime::CollectiveStep* step;
    bool sends;  // else takes
  };

  // The rank whose next part begins first; a part waits for the sender of what it takes.
  std::optional<size_t> Earliest() const {
    std::optional<size_t> earliest;
    double earliest_ns = 0;
    for (size_t rank = 0; rank < parts_.size(); ++rank) {
      if (parts_[rank].empty()) continue;
      const Part& part = parts_[rank].front();
      double begin_ns = times_[rank].end_ns;
      if (!part.sends) {
        const auto told = told_ns_.find(part.step);
        if (told == told_ns_.end()) continue;
        begin_ns = std::max(begin_ns, told->second);
      }
      if (earliest && begin_ns >= earliest_ns) continue;
      earliest = rank;
      earliest_ns = begin_ns;
    }
    return earliest;
  }

  // A packet of the host, to a card. It comes behind what the switch holds, and behind what a
  // sender's DMA engine has asked the link for already.
  double ToCard(size_t rank, double at_ns) const {
    const model::DmaConfig& dma = terms_.card.dma;
    const double asked_bytes = Number(dma.channels * dma.outstanding_per_channel) * kBurstBytes;
    const double most_waiting_ns = (link_.switch_bytes + asked_bytes) / link_.into_card;
    return ports_[rank].Pass(at_ns + link_.uplink_ns, most_waiting_ns) + link_.one_way_ns;
  }
  double ToHost(double at_ns) const { return at_ns + link_.one_way_ns + link_.uplink_ns; }
  double ReadOfHost(size_t rank, double at_ns) const {
    return ToCard(rank, ToHost(at_ns) + Number(terms_.card.pcie.host_memory_ns));
  }
  // Queue entries of the host: when the first has been decoded; others are while that one works.
  double Enqueue(size_t rank, double at_ns, double entries) const {
    at_ns += entries * terms_.host.submit_ns + terms_.host.register_write_ns;
    return ReadOfHost(rank, ToCard(rank, at_ns)) + Number(terms_.card.control.decode_ns);
  }
  double StartOfCopy() const {
    return Number(terms_.card.control.dispatch_ns + terms_.card.dma.setup_ns);
  }
  // From the end of an operation of the card to the host going on.
  double ComeBack(double at_ns) const {
    return ToHost(at_ns + Number(terms_.card.control.respond_ns)) + terms_.host.come_back_ns;
  }

  double MemoryReadNs() const {
    const model::MemoryConfig& memory = terms_.card.memory;
    return Number(memory.controller_ns) + Number(memory.t_rcd_ps + memory.read_latency_ps) / 1000;
  }

  // Returns when the receiver's host is told.
  double Send(const runtime::CollectiveStep& step) {
    RankTime& sender = times_[step.from];
    const double bytes = Number(step.bytes);
    const double begin_ns = Enqueue(step.from, sender.end_ns, 1) + StartOfCopy() + MemoryReadNs();
    const double here_ns =
        ports_[step.to].Take(step.from, begin_ns + link_.forward_ns, bytes, link_.into_card);
    // What the switch holds has left the sender, which waits for the credits of what it held
    // before. Several senders take turns there, and end with as much of each of them in the switch.
    double sent_ns = begin_ns + bytes / link_.wire;
    if (bytes > link_.switch_bytes) {
      const size_t senders = ports_[step.to].Senders(begin_ns + link_.forward_ns);
      const double held = link_.switch_bytes * Number(senders);
      sent_ns = std::max(
          sent_ns, here_ns - held / link_.into_card + Number(terms_.card.pcie.credit_return_ns));
    }
    const double back_ns = ComeBack(sent_ns);
    sender.send_ns += back_ns - sender.end_ns;
    sender.end_ns = back_ns;
    return back_ns;
  }

  // The receiver's host is told by the sender's. What it then has its card do comes behind the
  // data.
  void Take(const runtime::CollectiveStep& step, double told_ns) {
    RankTime& receiver = times_[step.to];
    const double begin_ns = std::max(receiver.end_ns, told_ns);
    receiver.wait_ns += begin_ns - receiver.end_ns;
    receiver.end_ns = begin_ns;
    if (!step.adds) return;
    receiver.end_ns = Add(step.to, begin_ns, step.bytes);
    receiver.compute_ns += receiver.end_ns - begin_ns;
  }

  // A launch: copy of the correction's input, correction, kernel. The correction reads its program
  // in two pieces and the locations, and writes them, each of which waits for the one before.
  double Add(size_t rank, double at_ns, uint64_t bytes) const {
    constexpr double kEntries = 3, kAccessesOfCorrection = 4;
    const double dispatch_ns = Number(terms_.card.control.dispatch_ns);
    at_ns = Enqueue(rank, at_ns + terms_.host.launch_ns, kEntries);
    at_ns = ReadOfHost(rank, at_ns + StartOfCopy());
    at_ns += dispatch_ns + kAccessesOfCorrection * MemoryReadNs();
    return ComeBack(at_ns + dispatch_ns + terms_.addition_ns(bytes));
  }

  const CollectiveTerms& terms_;
  const Link link_;
  std::vector<Port> ports_;              // by rank
  std::vector<std::deque<Part>> parts_;  // of each rank, in its order, that are still to do
  std::map<const runtime::CollectiveStep*, double> told_ns_;  // of steps that were sent
  std::vector<RankTime> times_;
};

}  // namespace

std::vector<RankTime> TimesOf(const runtime::CollectivePlan& plan, const CollectiveTerms& terms) {
  return Ranks(plan, terms).Run();
}

}  // namespace spyre::cosim
