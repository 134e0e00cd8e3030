// SPDX-License-Identifier: Apache-2.0
// Multicast and unicast loads of several cores over a real ring, against what each core must have
// in LX by the text of its program. Memory answers after times of its own, not in order. Some jobs
// meet a fault or are aborted in the middle; the next one must not notice.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "model/core/core.h"
#include "model/ring/ring.h"

namespace spyre::model::multicast_load_test {
namespace {

constexpr unsigned kCores = 5;
constexpr uint64_t kMapped = 1 << 30;
constexpr uint64_t kRegion = 64 << 10;  // of LX and of memory, for each load

uint8_t ByteAt(uint64_t address) {
  return static_cast<uint8_t>((address * 0x9E3779B97F4A7C15u) >> 40);
}

// A box of device memory that the cores of `group` load, each to the same place of its LX.
struct Load {
  uint32_t group;
  uint64_t lx, device;
  uint64_t row_bytes, rows, row_stride;  // rows are dense in LX
};

class Bench : sc_core::sc_module {
 public:
  explicit Bench(const sc_core::sc_module_name& name) : sc_module(name), mmu_(config_) {
    mmu_.Map({0, kMapped, kPermissionRead | kPermissionWrite});
    memory_.register_nb_transport_fw(this, &Bench::Ask);
    ring_.memory_socket.bind(memory_);
    for (unsigned i = 0; i < kCores; ++i) {
      cores_.push_back(
          std::make_unique<Core>(fmt::format("core{}", i).c_str(), i, config_, mmu_, nullptr));
      cores_[i]->ring_socket.bind(ring_.core_socket);
      cores_[i]->multicast_port.bind(ring_);
      ring_.lx_socket.bind(cores_[i]->lx_socket);
    }
    std::vector<Core*> peers;
    for (const auto& core : cores_) peers.push_back(core.get());
    for (const auto& core : cores_) {
      core->SetPeers(peers);
      functional_.AddLx(core->lx());
    }
    SC_HAS_PROCESS(Bench);
    SC_METHOD(Answer);
    sensitive << answer_;
    dont_initialize();
  }

  // Runs a load section a core; abort_after_ns: aborts the job then. Returns its status.
  Status Run(const std::vector<std::string>& sections, uint64_t abort_after_ns = UINT64_MAX) {
    std::string text = ".program p\n.cores 0x1f\n.lx 2031616\n";
    for (unsigned i = 0; i < kCores; ++i)
      text += fmt::format(".section load {:#x}\n{}", 1u << i, sections[i]);
    job_ = std::make_unique<Job>();
    job_->program = std::make_shared<const Program>(Assemble(text));
    job_->segments[0] = {0, kMapped, kPermissionRead | kPermissionWrite};
    job_->functional = &functional_;
    job_->cores = job_->program->core_mask;
    job_->fabric = &fabric_;
    asked.clear();
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    for (const auto& core : cores_) core->Start(*job_);
    bool torn_down = false;
    for (uint64_t ns = 0; job_->units_running > 0 && ns < kPatienceNs; ns += kStepNs) {
      sc_core::sc_start(static_cast<double>(kStepNs), sc_core::SC_NS);
      if (ns >= abort_after_ns) job_->Fault(Status::ABORTED, 0, kNoCore);
      if (!job_->aborted || torn_down) continue;
      torn_down = true;
      ring_.AbandonMulticasts(job_->cores);
      for (const auto& core : cores_) core->WakeUnits();
    }
    EXPECT_EQ(job_->units_running, 0) << "units that never end";
    return job_->status;
  }
  const uint8_t* Lx(unsigned core, uint64_t address, uint64_t bytes) {
    uint8_t* const at = cores_[core]->Lx(address, bytes);
    functional_.Push({{at, bytes}}, [] {});
    functional_.Join();
    return at;
  }
  void ClearLx() {
    for (const auto& core : cores_)
      functional_.Overwrite(core->lx(), [core = core.get()] { core->ClearLx(); });
  }
  uint64_t refuse_at = UINT64_MAX;  // memory answers the burst of this address with an error
  std::map<uint32_t, std::vector<uint64_t>> asked;  // addresses that memory was asked for, by group
  std::mt19937_64 random{14};

 private:
  static constexpr uint64_t kStepNs = 50, kPatienceNs = 10'000'000;

  tlm::tlm_sync_enum Ask(tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                         sc_core::sc_time& delay) {
    const Transfer& transfer = *payload.get_extension<Transfer>();
    const uint64_t address = payload.get_address();
    asked[transfer.group].push_back(address);
    payload.set_response_status(address == refuse_at ? tlm::TLM_ADDRESS_ERROR_RESPONSE
                                                     : tlm::TLM_OK_RESPONSE);
    transfer.Move({{payload.get_data_ptr(), payload.get_data_length()}},
                  [to = payload.get_data_ptr(), bytes = payload.get_data_length(), address] {
                    for (uint64_t i = 0; i < bytes; ++i) to[i] = ByteAt(address + i);
                  });
    if (random() % 8 == 0) return tlm::TLM_COMPLETED;  // at once
    answers_.emplace(NowPs() + delay.value() + random() % 400'000, number_++, &payload);
    answer_.notify(Ps(std::get<0>(answers_.top()) - NowPs()));
    return tlm::TLM_ACCEPTED;
  }
  void Answer() {
    while (!answers_.empty() && std::get<0>(answers_.top()) <= NowPs()) {
      tlm::tlm_generic_payload& payload = *std::get<2>(answers_.top());
      answers_.pop();
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay = Ps(random() % 100'000);
      memory_->nb_transport_bw(payload, phase, delay);
    }
    if (!answers_.empty()) answer_.notify(Ps(std::get<0>(answers_.top()) - NowPs()));
  }

  CardConfig config_ = [] {
    CardConfig config;
    config.cores = kCores;
    return config;
  }();
  Mmu mmu_;
  SyncFabric fabric_;
  FunctionalQueue functional_{0};
  Ring ring_{"ring", config_, nullptr};
  std::vector<std::unique_ptr<Core>> cores_;
  std::unique_ptr<Job> job_;
  tlm_utils::simple_target_socket<Bench, kSocketBits, TransferProtocol> memory_{"memory"};
  using Pending = std::tuple<uint64_t, uint64_t, tlm::tlm_generic_payload*>;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> answers_;
  uint64_t number_ = 0;
  sc_core::sc_event answer_;
};

// Loads of one job, in an order that all cores keep, so that they never wait for each other in a
// circle.
std::vector<Load> RandomLoads(std::mt19937_64& random) {
  std::vector<Load> loads(1 + random() % 20);
  for (size_t i = 0; i < loads.size(); ++i) {
    Load& load = loads[i];
    // Few groups, so that some have several loads in flight.
    const uint32_t groups[] = {0b11111, 0b00110, 0b10001, 1u << random() % kCores};
    load.group = groups[random() % 4];
    load.rows = 1 + random() % 3;
    load.row_bytes = 128 * (1 + random() % (random() % 2 == 0 ? 4 : 160));
    load.row_stride = load.row_bytes + 128 * (random() % 2);
    load.lx = i * kRegion;
    load.device = (i + 32 * (random() % 8)) * 2 * kRegion + 128 * (random() % 8);
  }
  return loads;
}

std::string Text(const Load& load) {
  return fmt::format(
      "  li r1, {}\n  li r2, {}\n  li r3, {}\n  li r4, {}\n  li r5, {}\n  li r6, {}\n  li r7, 1\n"
      "  li r8, {}\n  load r1, r2, r3, r4, r5, r6, r7, r0, r0, r8\n",
      load.lx, load.device, load.row_bytes, load.rows, load.row_stride, load.row_bytes, load.group);
}

std::vector<std::string> Sections(const std::vector<Load>& loads) {
  std::vector<std::string> sections(kCores);
  for (const Load& load : loads) {
    for (unsigned core = 0; core < kCores; ++core) {
      if ((load.group >> core & 1) != 0) sections[core] += Text(load);
    }
  }
  for (std::string& section : sections) section += "  nop\n";
  return sections;
}

// Every core has the bytes of its loads and no others, and memory was read once for each burst of a
// group, in the order of the program.
void ExpectLoaded(Bench& bench, const std::vector<Load>& loads) {
  std::map<uint32_t, std::vector<uint64_t>> asked;
  for (const Load& load : loads) {
    const bool alone = (load.group & (load.group - 1)) == 0;
    // Rows without a gap are one run.
    const bool dense = load.row_stride == load.row_bytes;
    const uint64_t run = dense ? load.row_bytes * load.rows : load.row_bytes;
    for (uint64_t row = 0; row < (dense ? 1 : load.rows); ++row) {
      for (uint64_t offset = 0; offset < run; offset += 4096) {
        if (!alone) asked[load.group].push_back(load.device + row * load.row_stride + offset);
      }
    }
    for (unsigned core = 0; core < kCores; ++core) {
      const bool member = (load.group >> core & 1) != 0;
      const uint8_t* const lx = bench.Lx(core, load.lx, kRegion);
      size_t wrong = 0;
      for (uint64_t i = 0; i < load.row_bytes * load.rows; ++i) {
        const uint64_t from =
            load.device + i / load.row_bytes * load.row_stride + i % load.row_bytes;
        wrong += lx[i] != (member ? ByteAt(from) : 0) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0u) << "bytes at LX " << load.lx << " of core " << core;
    }
  }
  bench.asked.erase(0);
  EXPECT_EQ(bench.asked, asked) << "addresses read, by group";
}

TEST(MulticastLoads, EveryMemberGetsItsBytesAndMemoryIsReadOnce) {
  Bench bench("bench");
  for (int round = 0; round < 60; ++round) {
    const std::vector<Load> loads = RandomLoads(bench.random);
    bench.ClearLx();
    ASSERT_EQ(bench.Run(Sections(loads)), Status::OK) << "round " << round;
    ExpectLoaded(bench, loads);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MulticastLoads, AJobThatFailsInTheMiddleLeavesNothingBehind) {
  Bench bench("bench");
  std::map<Status, int> ended;
  for (int round = 0; round < 100; ++round) {
    const std::vector<Load> loads = RandomLoads(bench.random);
    std::vector<Load> broken = loads;
    Load& victim = broken[bench.random() % broken.size()];
    uint64_t abort_after_ns = UINT64_MAX;
    std::vector<std::string> sections;
    switch (round % 5) {
      case 0:  // outside what is mapped
        victim.device = kMapped - 128 * (bench.random() % 3);
        victim.row_bytes = 4096;
        break;
      case 1:  // memory refuses a burst
        bench.refuse_at = victim.device;
        break;
      case 2:  // outside LX
        victim.lx = CardConfig().lx_usable_bytes() - 128 * (bench.random() % 3);
        victim.row_bytes = 4096;
        break;
      case 3:
        abort_after_ns = 50 * (bench.random() % 40);
        break;
      default:  // one core asks for other bytes than its partners; alone it may
        sections = Sections(broken);
        victim.device += 128;
        sections[__builtin_ctz(victim.group)] = Sections(broken)[__builtin_ctz(victim.group)];
    }
    if (sections.empty()) sections = Sections(broken);
    const Status status = bench.Run(sections, abort_after_ns);
    ++ended[status];
    const bool may_pass = round % 5 >= 3;
    EXPECT_TRUE(may_pass || status != Status::OK) << "round " << round;
    bench.refuse_at = UINT64_MAX;

    bench.ClearLx();
    ASSERT_EQ(bench.Run(Sections(loads)), Status::OK) << "the job after, round " << round;
    ExpectLoaded(bench, loads);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ended[Status::PAGE_FAULT], 10);
  EXPECT_GT(ended[Status::LX_OVERFLOW], 10);
  EXPECT_GT(ended[Status::ILLEGAL_INSTRUCTION], 5) << "members that asked for different bytes";
  EXPECT_GT(ended[Status::ABORTED], 5);
}

TEST(MulticastLoads, AUnitThatWaitsForATokenHearsThatABurstHasFailed) {
  Bench bench("bench");
  bench.refuse_at = 0x4000;
  std::vector<std::string> sections(kCores, "  nop\n");
  sections[2] = Text({0, 0, 0x4000, 4096, 1, 4096}) + "  nop wait=t1\n";
  EXPECT_EQ(bench.Run(sections), Status::PAGE_FAULT) << "nobody gives t1";
}

}  // namespace
}  // namespace spyre::model::multicast_load_test
