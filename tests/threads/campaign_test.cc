// SPDX-License-Identifier: Apache-2.0
// Random sequences of runtime calls on the fake card, by one thread with resets and by two without,
// against an oracle of plain byte arrays: what is copied out is what went in, whoever freed what
// meanwhile, and every misuse is refused.
//
// SPYRE_FUZZ_SEED: the first seed; SPYRE_FUZZ_SECONDS: how long; else a fixed number of sequences.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::campaign_test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr int64_t kTileRows = 4;
constexpr size_t kRowBytes = 128;

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Buffer {
  flex::DeviceHandle handle;
  int64_t rows = 0;
  Bytes bytes;
  bool known = false;  // what is in it
  size_t stream = 0;   // that used it last
  size_t size() const { return static_cast<size_t>(rows) * kRowBytes; }
  SpyreTensor Tensor() const {
    return TensorAt(handle, DefaultLayout({rows, 64}, DataFormat::kSen169Fp16));
  }
};

struct ReadBack {
  size_t stream;
  std::shared_ptr<Bytes> host;
  Bytes expected;
};

// One application thread with two streams and memory of its own.
class Actor {
 public:
  Actor(flex::RuntimeContext& context, const ExecutionPlan& plan, uint64_t seed, bool resets)
      : context_(context), plan_(plan), random_(seed), resets_(resets) {
    for (auto& stream : streams_) stream = std::make_unique<SpyreStream>(context_);
  }
  ~Actor() {
    for (const Buffer& buffer : buffers_) context_.Free(buffer.handle);
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    for (size_t s = 0; s < 2; ++s) Synchronize(s);
  }
  const std::string& problem() const { return problem_; }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }

  void Step() {
    switch (Below(resets_ ? 13 : 12)) {
      case 0:
      case 1:
        return Allocate();
      case 2:
        return Free();
      case 3:
      case 4:
        return CopyIn();
      case 5:
        return Fill();
      case 6:
      case 7:
        return CopyOut();
      case 8:
      case 9:
        return Launch();
      case 10:
        return Below(2) == 0 ? Synchronize(Below(2)) : NewStream();
      case 11:
        return Misuse();
      case 12:
        if (Below(4) == 0) Reset();
    }
  }

  void Allocate() {
    if (buffers_.size() >= 6) return;
    Buffer buffer;
    buffer.rows = kTileRows * static_cast<int64_t>(1 + Below(3));
    buffer.handle = context_.Allocate(buffer.size());
    buffer.bytes.resize(buffer.size());
    buffers_.push_back(std::move(buffer));
  }
  void Free() {
    if (buffers_.empty()) return;
    const size_t index = Below(buffers_.size());
    freed_.push_back(buffers_[index].handle);
    context_.Free(buffers_[index].handle);
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  // A buffer, and a stream on which its earlier uses are done.
  Buffer* Choose(size_t stream) {
    if (buffers_.empty()) return nullptr;
    Buffer& buffer = buffers_[Below(buffers_.size())];
    Order(buffer, stream);
    return &buffer;
  }
  void Order(Buffer& buffer, size_t stream) {
    if (buffer.stream != stream) {
      const flex::Event event(context_);
      streams_[buffer.stream]->flex_stream().Record(event);
      streams_[stream]->flex_stream().Wait(event);
      buffer.stream = stream;
    }
  }
  void CopyIn() {
    const size_t stream = Below(2);
    Buffer* buffer = Choose(stream);
    if (buffer == nullptr) return;
    for (uint8_t& byte : buffer->bytes) byte = static_cast<uint8_t>(random_());
    buffer->known = true;
    const auto host = std::make_shared<Bytes>(buffer->bytes);
    flex::OperationInfo info;
    info.keep_alive = host;
    streams_[stream]->flex_stream().CopyToDevice(host->data(), buffer->handle, buffer->size(),
                                                 info);
  }
  void Fill() {
    const size_t stream = Below(2);
    Buffer* buffer = Choose(stream);
    if (buffer == nullptr) return;
    const uint64_t pattern = random_();
    for (size_t i = 0; i < buffer->size(); i += 8) std::memcpy(&buffer->bytes[i], &pattern, 8);
    buffer->known = true;
    streams_[stream]->flex_stream().Fill(buffer->handle, buffer->size(), pattern);
  }
  void CopyOut() {
    const size_t stream = Below(2);
    Buffer* buffer = Choose(stream);
    if (buffer == nullptr || !buffer->known) return;
    const auto host = std::make_shared<Bytes>(buffer->size());
    flex::OperationInfo info;
    info.keep_alive = host;
    streams_[stream]->flex_stream().CopyFromDevice(host->data(), buffer->handle, buffer->size(),
                                                   info);
    read_back_.push_back({stream, host, buffer->bytes});
  }
  void Launch() {
    const size_t stream = Below(2);
    Buffer* from = Choose(stream);
    Buffer* to = Choose(stream);
    if (from == nullptr || from == to || from->rows != to->rows) return;
    LaunchKernel(*streams_[stream], plan_, {from->Tensor(), to->Tensor()});
    to->bytes = from->bytes;
    to->known = from->known;
  }
  void Synchronize(size_t stream) {
    try {
      streams_[stream]->Synchronize();
    } catch (const Error& error) {
      if (!was_reset_[stream]) {
        Note(std::string("Synchronize: ") + error.what());
        return;
      }
      was_reset_[stream] = false;
      Forget(stream);
      try {
        streams_[stream]->Synchronize();
      } catch (const Error& again) {
        Note(std::string("said twice: ") + again.what());
      }
      return;
    }
    was_reset_[stream] = false;
    for (const ReadBack& read : read_back_) {
      if (read.stream == stream && *read.host != read.expected) Note("wrong bytes after a copy");
    }
    Forget(stream);
  }
  void Forget(size_t stream) {
    for (size_t i = read_back_.size(); i-- > 0;) {
      if (read_back_[i].stream == stream) {
        read_back_.erase(read_back_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  void NewStream() {
    const size_t stream = Below(2);
    Synchronize(stream);
    streams_[stream] = nullptr;
    streams_[stream] = std::make_unique<SpyreStream>(context_);
  }
  void Misuse() {
    uint8_t host[2 * kRowBytes] = {};
    const auto refused = [&](const char* what, const auto& call) {
      try {
        call();
        Note(std::string(what) + " was accepted");
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kBadInput) Note(std::string(what) + ": " + error.what());
      }
    };
    auto& stream = streams_[0]->flex_stream();
    if (!freed_.empty()) {
      const flex::DeviceHandle handle = freed_[Below(freed_.size())];
      refused("a copy to freed memory", [&] { stream.CopyToDevice(host, handle, kRowBytes); });
      refused("a second free", [&] { context_.Free(handle); });
      refused("a launch on freed memory", [&] {
        const SpyreTensor tensor =
            TensorAt(handle, DefaultLayout({kTileRows, 64}, DataFormat::kSen169Fp16));
        LaunchKernel(*streams_[0], plan_, {tensor, tensor});
      });
    }
    if (buffers_.empty()) return;
    const Buffer& buffer = buffers_[Below(buffers_.size())];
    const auto end = flex::Offset(buffer.handle, static_cast<int64_t>(buffer.size() - kRowBytes));
    refused("a copy past the end", [&] { stream.CopyFromDevice(host, end, 2 * kRowBytes); });
    refused("a launch past the end", [&] {
      const SpyreTensor tensor =
          TensorAt(end, DefaultLayout({kTileRows, 64}, DataFormat::kSen169Fp16));
      LaunchKernel(*streams_[0], plan_, {buffer.Tensor(), tensor});
    });
  }
  void Reset() {
    context_.Reset();
    was_reset_[0] = was_reset_[1] = true;
    for (Buffer& buffer : buffers_) buffer.known = false;
    // What ran before the reset is right all the same, if the stream says that it did.
  }
  void Note(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  flex::RuntimeContext& context_;
  const ExecutionPlan& plan_;
  std::mt19937_64 random_;
  bool resets_;
  std::unique_ptr<SpyreStream> streams_[2];
  bool was_reset_[2] = {false, false};
  std::vector<Buffer> buffers_;
  std::vector<flex::DeviceHandle> freed_;
  std::vector<ReadBack> read_back_;
  std::string problem_;
};

class Campaign : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new test::TemporaryDirectory;
    test::WriteCopyKernel(directory_->path(), test::CopyKernelJson(kTileRows, 64));
  }
  static void TearDownTestSuite() { delete directory_; }

  static std::string RunSequence(uint64_t seed, int threads) {
    test::FakeCard card;
    card.op_ps = seed % 7 == 0 ? 1'000 : 20'000'000;
    card.pipelined = seed / 2 % 2 == 0;
    if (card.pipelined && seed % 3 != 0) card.shuffle.emplace(static_cast<uint32_t>(seed));
    test::CopyKernelImitation kernel{kTileRows, 64};
    kernel.InstallOn(card);
    const auto function = static_cast<driver::FunctionId>(seed % 2);
    if (function != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    flex::RuntimeOptions options;
    const std::vector<std::string> policies = flex::SchedulingPolicyNames();
    options.scheduling = policies[seed % policies.size()];
    options.device.submission_entries = seed % 4 == 0 ? 4 : 256;
    options.device.interrupts = seed % 5 != 0;
    flex::RuntimeContext context(card, function, options);
    ExecutionPlan plan(directory_->path());
    SpyreStream loader = SpyreStream::Default(context);
    LoadPlan(loader, plan);
    loader.Synchronize();
    std::vector<std::unique_ptr<Actor>> actors;
    for (int t = 0; t < threads; ++t) {
      actors.push_back(std::make_unique<Actor>(context, plan, seed * 2 + static_cast<uint64_t>(t),
                                               threads == 1));
    }
    std::vector<std::thread> others;
    std::vector<std::string> thrown(actors.size());
    const auto run = [&](size_t t) {
      try {
        actors[t]->Run(60);
      } catch (const std::exception& error) {
        thrown[t] = std::string("thrown: ") + error.what();
      }
    };
    for (size_t t = 1; t < actors.size(); ++t) others.emplace_back(run, t);
    run(0);
    for (std::thread& other : others) other.join();
    for (size_t t = 0; t < actors.size(); ++t) {
      if (!thrown[t].empty()) return thrown[t];
      if (!actors[t]->problem().empty()) return actors[t]->problem();
    }
    actors.clear();
    try {
      context.Synchronize();
    } catch (const Error&) {
      // Of a stream that was destroyed after a reset.
    }
    const auto memory = context.Statistics(flex::MemoryKind::kTensor);
    if (memory.used_bytes != 0 || memory.waiting_bytes != 0) return "memory is left over";
    return {};
  }

  static void RunAll(int threads, uint64_t sequences) {
    const uint64_t first = NumberFrom("SPYRE_FUZZ_SEED", 1);
    const uint64_t seconds = NumberFrom("SPYRE_FUZZ_SECONDS", 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (uint64_t seed = first;; ++seed) {
      if (seconds == 0 ? seed == first + sequences : std::chrono::steady_clock::now() >= end) break;
      const std::string problem = RunSequence(seed, threads);
      ASSERT_EQ(problem, "") << "SPYRE_FUZZ_SEED=" << seed;
    }
  }

  static test::TemporaryDirectory* directory_;
};
test::TemporaryDirectory* Campaign::directory_ = nullptr;

TEST_F(Campaign, OneThreadWithResets) { RunAll(1, 100); }
TEST_F(Campaign, TwoThreadsThatShareAContext) { RunAll(2, 100); }

}  // namespace
}  // namespace spyre::runtime::campaign_test
