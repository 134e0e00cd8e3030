// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "bringup/cli/backends.h"
#include "model/memory/address_map.h"
#include "model/memory/bank_map.h"

namespace spyre::bringup {
namespace {

int Generation(uint64_t rate_mts) { return rate_mts >= 32000 ? 5 : rate_mts >= 16000 ? 4 : 3; }

// What a figure may be: not better than the parts that it is made of, and not much worse.
void AddRates(const cosim::RunConfig& config, double cores, std::map<std::string, Limits>& limits) {
  const model::CardConfig& card = config.card;
  const auto number = [](uint64_t value) { return static_cast<double>(value); };

  // Latencies in ns: the ways across the link and the fixed times on the way. Packets, polling and
  // what the host does come on top.
  const double way = number(card.pcie.one_way_ns);
  const double read = 2 * way + number(card.pcie.register_ns);
  limits["register_read_latency"] = {read, 2 * read + 200};
  const double nop = 4 * way + number(card.pcie.host_memory_ns + card.control.decode_ns +
                                      card.control.dispatch_ns + card.control.respond_ns);
  limits["nop_polled_latency"] = {nop, 3 * nop + 1000};
  const double interrupt = nop + number(config.host.interrupt_ns);
  limits["nop_interrupt_latency"] = {interrupt, 3 * interrupt + 1000};

  // GB/s. 128 of 130 bits are data; each packet has its header.
  const double link = number(card.pcie.lanes * card.pcie.rate_mts) * 128 / 130 / 8 / 1000;
  const double payload = number(card.pcie.max_payload_bytes);
  const double best =
      link * payload /
      (payload + number(card.pcie.completion_header_bytes + card.pcie.framing_bytes));
  for (const char* const way_of : {"dma_in", "dma_out"}) {
    for (const char* const size : {"4_kib", "64_kib"})
      limits[std::string(way_of) + "_" + size] = {0, best};
    for (const char* const size : {"1_mib", "16_mib"})
      limits[std::string(way_of) + "_" + size] = {0.6 * best, best};
  }
  // What follows is the difference of two measurements, whose starts need not be quite alike.
  constexpr double kAlike = 1.02;
  const double channel = number(card.memory.channel_bits * card.memory.transfer_mts) / 8 / 1000;
  for (const char* const which : {"slowest", "fastest"})
    limits[std::string("channel_read_") + which] = {std::min(0.4 * channel, cores),
                                                    kAlike * channel};
  const double core_ghz = number(card.clock.core_mhz) / 1000;
  // All channels; few cores cannot ask for so much.
  const double all = channel * number(card.memory.channels);
  limits["memory_read"] = {std::min(0.5 * all, cores), kAlike * all};
  const double macs = cores * number(card.core.corelets * card.core.pt_macs_per_cycle);
  limits["pt_fp16"] = {0.7 * 2 * macs * core_ghz / 1000, kAlike * 2 * macs * core_ghz / 1000};
  // Messages take the partial-sum ring. Half of the cores to the other half and back cross two
  // cuts, each way; if both ways round are as long, all may take the same one.
  const double ring = number(card.ring.psum_bytes_per_cycle * card.clock.ring_mhz) / 1000;
  limits["ring_bisection"] = {0.3 * 2 * ring, kAlike * 4 * ring};
}

std::map<std::string, Limits> LimitsOf(const cosim::RunConfig& config, int cores) {
  const model::PcieConfig& pcie = config.card.pcie;
  const double generation = Generation(pcie.rate_mts);
  const auto lanes = static_cast<double>(pcie.lanes);
  std::map<std::string, Limits> limits;
  limits["link_generation"] = {generation, generation};
  limits["link_width"] = {lanes, lanes};
  if (config.card.fidelity != model::Fidelity::kFunctional) AddRates(config, cores, limits);
  return limits;
}

}  // namespace

Expected ExpectedOf(const cosim::RunConfig& config) {
  const model::CardConfig& card = config.card;
  Expected expected;
  expected.limits = [config](int cores) { return LimitsOf(config, cores); };
  expected.channels = static_cast<uint32_t>(card.memory.channels);
  const model::AddressMap channels(card.memory);
  const model::BankMap banks(card.memory);
  expected.banks = banks.banks();
  expected.place = [channels, banks](uint64_t address) {
    const model::ChannelAddress at = channels.Locate(address);
    return MemoryPlace{at.channel, banks.Locate(at.address).bank};
  };
  return expected;
}

}  // namespace spyre::bringup
