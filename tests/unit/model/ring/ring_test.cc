#include "model/ring/ring.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include "model/memory/device_memory.h"

namespace spyre::model {
namespace {

// Four cores and the memory stop; 1000 MHz, 128 bytes a cycle and 2 cycles a hop make times easy to
// read. Memory answers at once: no latency, no refresh, a bus too fast to matter.
struct Bench : sc_core::sc_module {
  CardConfig config;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Ring> ring;
  std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<Bench>>> cores;
  std::vector<std::unique_ptr<tlm_utils::simple_target_socket<Bench>>> lx;
  uint64_t lx_address = 0;

  explicit Bench(const sc_core::sc_module_name& name) : sc_module(name) {
    config.cores = 4;
    config.clock.ring_mhz = 1000;
    config.ring.memory_ports = 1;
    config.memory = {};
    config.memory.read_latency_ps = config.memory.write_latency_ps = 0;
    config.memory.t_rcd_ps = config.memory.t_rp_pb_ps = config.memory.t_ccd_l_ps = 0;
    config.memory.t_rtw_gap_ps = config.memory.t_wtr_l_ps = 0;
    config.memory.t_rfc_ab_ps = config.memory.controller_ns = 0;
    config.memory.transfer_mts = 1ull << 40;
    memory = std::make_unique<DeviceMemory>("memory", config, nullptr);
    ring = std::make_unique<Ring>("ring", config, nullptr);
    ring->memory_socket.bind(memory->socket);
    for (int i = 0; i < 5; ++i) {
      cores.push_back(std::make_unique<tlm_utils::simple_initiator_socket<Bench>>());
      cores.back()->bind(ring->core_socket);
    }
    for (int i = 0; i < 4; ++i) {
      lx.push_back(std::make_unique<tlm_utils::simple_target_socket<Bench>>());
      lx.back()->register_b_transport(this, &Bench::WriteLx);
      ring->lx_socket.bind(*lx.back());
    }
  }
  void WriteLx(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    lx_address = payload.get_address();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  // Issues at time 0 for `core`; returns when it is done, in cycles.
  // The first call elaborates.
  uint64_t Go(unsigned core, tlm::tlm_command command, uint64_t address, uint64_t bytes) {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION)
      sc_core::sc_start(sc_core::SC_ZERO_TIME);
    std::vector<uint8_t> data(bytes);
    TransferPayload payload;
    payload.info.stop = static_cast<uint16_t>(core);
    auto& transaction = payload.Prepare(command, address, data.data(), bytes);
    sc_core::sc_time delay;
    (*cores[core])->b_transport(transaction, delay);
    EXPECT_TRUE(transaction.is_response_ok());
    return delay.value() / 1000;
  }
};

TEST(Ring, AReadTakesItsRequestHopsItsDataHopsAndItsBytes) {
  Bench bench("bench");
  // Core 0 is next to the memory stop (4): 1 hop each way, 4096 bytes are 32 cycles.
  EXPECT_EQ(bench.Go(0, tlm::TLM_READ_COMMAND, 0, 4096), 2u + 2u + 32u) << "cycles";
}

TEST(Ring, TheShorterWayRoundIsTaken) {
  Bench bench("bench");
  EXPECT_EQ(bench.Go(1, tlm::TLM_READ_COMMAND, 0, 128), 4u + 4u + 1u)
      << "cycles: two hops clockwise";
}

TEST(Ring, NeighboursOnOppositeSidesShareOnlyTheMemoryPort) {
  Bench bench("bench");
  EXPECT_EQ(bench.Go(0, tlm::TLM_READ_COMMAND, 0, 4096), 36u);
  EXPECT_EQ(bench.Go(3, tlm::TLM_READ_COMMAND, 0, 4096), 36u + 32u) << "cycles: waits for the port";
}

TEST(Ring, PeersAreReachedOverThePartialSumRing) {
  Bench bench("bench");
  // 128 bytes at 32 bytes a cycle, one hop.
  EXPECT_EQ(bench.Go(1, tlm::TLM_WRITE_COMMAND, Ring::PeerAddress(2, 640), 128), 2u + 4u)
      << "cycles";
  EXPECT_EQ(bench.lx_address, 640u);
}

TEST(Ring, EveryByteCrossesEachLinkOnItsWayOnce) {
  Bench bench("bench");
  bench.Go(1, tlm::TLM_READ_COMMAND, 0, 4096);
  bench.Go(2, tlm::TLM_WRITE_COMMAND, 0, 4096);
  uint64_t clockwise = 0;
  uint64_t counter = 0;
  for (const UnitStatistics& unit : bench.ring->Statistics()) {
    if (unit.name.find("ring.cw") == 0) clockwise += unit.bytes;
    if (unit.name.find("ring.ccw") == 0) counter += unit.bytes;
  }
  EXPECT_EQ(clockwise, 4u * 4096) << "bytes: memory to core 1 and core 2 to memory, two links each";
  EXPECT_EQ(counter, 0u);
}

}  // namespace
}  // namespace spyre::model
