// SPDX-License-Identifier: Apache-2.0
// What it costs to reach a card by each transport: in this process, and served by another one.
//   card_ns   simulated time of one iteration
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "driver/host_buffer.h"
#include "driver/physical_function.h"
#include "driver/vfio_user_transport.h"
#include "tests/benchmarks/card_bench.h"
#include "tests/paths.h"

namespace spyre::transport_bench {
namespace {

constexpr uint64_t kCopyBytes = 64 << 20;

// `spyre-cosim serve` of this build, with the default card.
class Server {
 public:
  explicit Server(const std::string& mode)
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("spyre_bench_{}_{}", getpid(), mode)) {
    std::filesystem::create_directories(directory_);
    std::ofstream(directory_ / "card.toml") << "[workload]\nop = \"copy\"\nrows = 64\ncols = 64\n";
    std::array<int, 2> out{};
    if (pipe(out.data()) != 0) throw BadInput("no pipe for a server");
    child_ = fork();
    if (child_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // its log
      const std::string config = directory_ / "card.toml", sockets = directory_ / "s";
      execl(SPYRE_BUILD_DIR "/spyre-cosim", "spyre-cosim", "serve", config.c_str(), "--vfio-user",
            sockets.c_str(), "--time", mode.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    std::string said;
    for (char c = 0; said.find("\nserving\n") == std::string::npos && read(out[0], &c, 1) == 1;)
      said += c;
    close(out[0]);
    transport_ = std::make_unique<driver::VfioUserTransport>(directory_ / "s");
  }
  ~Server() {
    transport_.reset();
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(directory_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  driver::Transport& transport() { return *transport_; }

 private:
  const std::filesystem::path directory_;
  pid_t child_ = -1;
  std::unique_ptr<driver::VfioUserTransport> transport_;
};

// The physical function of a card, opened for one benchmark.
struct Opened {
  explicit Opened(const std::string& by) {
    if (by == "in_process") {
      transport = &Bench::Get().transport;
      device = &Bench::Get().context.device();
      return;
    }
    server = std::make_unique<Server>(by);
    transport = &server->transport();
    own_device = std::make_unique<driver::Device>(*transport, 0);
    device = own_device.get();
  }
  Response Do(ControlBlock block) {
    driver::Entry entry = block;
    device->queue().Submit(entry);
    return device->queue().Wait();
  }
  std::unique_ptr<Server> server;
  std::unique_ptr<driver::Device> own_device;
  driver::Transport* transport = nullptr;
  driver::Device* device = nullptr;
};

template <typename Action>
void Measure(benchmark::State& state, driver::Transport& transport, const Action& action) {
  action();
  const uint64_t begin = transport.NowPs();
  for (auto _ : state) action();
  state.counters["card_ns"] = benchmark::Counter(static_cast<double>(transport.NowPs() - begin) /
                                                 1000 / static_cast<double>(state.iterations()));
}

void BM_RegisterRead(benchmark::State& state, const std::string& by) {
  Opened card(by);
  Measure(state, *card.transport, [&] { card.transport->Read32(0, 0, regs::SCRATCH); });
}

void BM_NopWithInterrupt(benchmark::State& state, const std::string& by) {
  Opened card(by);
  Measure(state, *card.transport, [&] {
    if (card.Do(ControlBlock{}).status != 0) state.SkipWithError("the NOP failed");
  });
}

void BM_Copy64MiB(benchmark::State& state, const std::string& by) {
  Opened card(by);
  driver::PhysicalFunction physical(*card.device);
  driver::HostBuffer buffer(*card.transport, 0, kCopyBytes);
  constexpr uint64_t kAt = 1ull << 30;
  physical.MapRange(kAt, kCopyBytes, 3);
  ControlBlock copy;
  copy.opcode = static_cast<uint8_t>(Opcode::DMA_IN);
  copy.host_address = buffer.io_address();
  copy.device_address = kAt;
  copy.size_bytes = kCopyBytes;
  Measure(state, *card.transport, [&] {
    if (card.Do(copy).status != 0) state.SkipWithError("the copy failed");
  });
  physical.UnmapRange(kAt);
}

#define SPYRE_BY_TRANSPORT(benchmark_name, unit)                                          \
  BENCHMARK_CAPTURE(benchmark_name, in_process, "in_process")->Unit(unit)->UseRealTime(); \
  BENCHMARK_CAPTURE(benchmark_name, lockstep, "lockstep")->Unit(unit)->UseRealTime();     \
  BENCHMARK_CAPTURE(benchmark_name, free, "free")->Unit(unit)->UseRealTime()
SPYRE_BY_TRANSPORT(BM_RegisterRead, benchmark::kMicrosecond);
SPYRE_BY_TRANSPORT(BM_NopWithInterrupt, benchmark::kMicrosecond);
SPYRE_BY_TRANSPORT(BM_Copy64MiB, benchmark::kMillisecond);

}  // namespace
}  // namespace spyre::transport_bench
