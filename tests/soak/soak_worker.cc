// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/contract/program.h"

namespace spyre::cosim {

namespace {

constexpr uint64_t kMostBytes = 1 << 20;
constexpr size_t kReferenceProgram = 1;

// Loads, adds and stores of two cores, of `sticks` sticks.
Program MakeProgram(uint64_t sticks, const flex::DeviceHandle& memory) {
  Program program = Assemble(fmt::format(R"(
.program soak{0}
.cores 0x3
.lx 262144
.table 1
.section load 0x3
  tab r1, 0
  li r2, {1}
  li r3, 1
  li r4, 131072
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
  load r4, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section vector 0x3
  li r2, {0}
  li r3, 1
  li r4, 131072
  li r5, 128
  vbinary.add r0, r0, r4, r2, r3, r0, r0, r0, r5, r5, r5 wait=t1 signal=t2
.section store 0x3
  tab r1, 0
  li r2, {1}
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t2
)",
                                         sticks, sticks * 128));
  program.timing_only = true;
  program.address_table[0] = flex::ToDeviceVirtual(memory);
  return program;
}

}  // namespace

SoakWorker::SoakWorker(driver::Transport& transport, driver::FunctionId function,
                       const flex::RuntimeOptions& options, SoakCounts* counts)
    : transport_(transport),
      function_(function),
      options_([&] {
        flex::RuntimeOptions own = options;
        own.timing_only = true;
        own.keep_completed = false;
        return own;
      }()),
      counts_(*counts),
      host_(kHostBytes) {}

void SoakWorker::Open() {
  context_ = std::make_unique<flex::RuntimeContext>(transport_, function_, options_);
  LoadPrograms();
}

void SoakWorker::LoadPrograms() {
  programs_.clear();
  const flex::DeviceHandle memory = context_->Allocate(1 << 17);
  for (const uint64_t sticks : {4, 64, 1000}) {
    std::vector<uint8_t> image = Encode(MakeProgram(sticks, memory));
    image.resize(AlignUp(image.size(), kStickBytes));
    programs_.push_back(context_->Allocate(image.size(), flex::MemoryKind::kProgram));
    std::copy(image.begin(), image.end(), host_.begin());
    given_bytes_ += image.size();
    flex::OperationInfo info;
    info.then = [done = answered_bytes_, bytes = image.size()] { *done += bytes; };
    context_->DefaultStream().CopyToDevice(host_.data(), programs_.back(), image.size(), info);
    context_->DefaultStream().Synchronize();
  }
}

void SoakWorker::Forget() {
  const driver::QueueStatistics queue = context_->QueueStatistics();
  given_ += queue.submitted;
  answered_ += queue.completed;
  counts_.dropped += queue.submitted - queue.completed;
}

void SoakWorker::Close() {
  if (context_ == nullptr) return;
  Drain();
  Forget();
  context_.reset();
}

flex::OperationInfo SoakWorker::Counted(uint64_t bytes) {
  given_bytes_ += bytes;
  counts_.copied_bytes += bytes;
  flex::OperationInfo info;
  info.bulk = true;
  info.then = [done = answered_bytes_, bytes] { *done += bytes; };
  return info;
}

void SoakWorker::Copy(flex::FlexStream& stream, bool in, const flex::DeviceHandle& memory,
                      uint64_t bytes) {
  ++counts_.copies;
  if (in) {
    stream.CopyToDevice(host_.data(), memory, bytes, Counted(bytes));
  } else {
    stream.CopyFromDevice(host_.data(), memory, bytes, Counted(bytes));
  }
}

void SoakWorker::Fill(flex::FlexStream& stream, const flex::DeviceHandle& memory, uint64_t bytes) {
  ++counts_.fills;
  stream.Fill(memory, bytes, 0, Counted(bytes));
}

void SoakWorker::Launch(flex::FlexStream& stream, size_t program) {
  ++counts_.launches;
  stream.Launch(programs_[program]);
}

void SoakWorker::Burst(std::mt19937_64& random) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  const auto streams = static_cast<uint32_t>(1 + below(4));
  std::vector<flex::DeviceHandle> taken;
  try {
    std::unique_ptr<flex::Event> event;
    for (uint64_t i = 1 + below(8); i-- > 0;) {
      flex::FlexStream& stream = context_->Stream(static_cast<uint32_t>(below(streams)));
      const uint64_t bytes = std::min(kMostBytes, (1 + below(64)) * kStickBytes << below(8));
      const uint64_t what = below(8);
      if (what < 5) taken.push_back(context_->Allocate(bytes));
      if (what < 4) {
        Copy(stream, what < 2, taken.back(), bytes);
      } else if (what == 4) {
        Fill(stream, taken.back(), bytes);
      } else if (what < 7) {
        Launch(stream, below(programs_.size()));
      } else if (event == nullptr) {
        event = std::make_unique<flex::Event>(*context_);
        stream.Record(*event);
        ++counts_.events;
      } else {
        stream.Wait(*event);
        ++counts_.events;
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDeviceFault) throw;
    ++counts_.errors;
    counts_.last_error = error.what();
  }
  for (const flex::DeviceHandle& memory : taken) context_->Free(memory);
}

void SoakWorker::Drain() {
  if (context_ == nullptr) return;
  try {
    context_->Synchronize();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDeviceFault) throw;
    ++counts_.errors;
    counts_.last_error = error.what();
    Reset();
  }
}

void SoakWorker::Reset() {
  ++counts_.resets;
  Forget();
  context_->Reset();
  // Streams tell once that their work was dropped.
  for (uint32_t stream = 0; stream < 4; ++stream) {
    try {
      if (context_->HasStream(stream)) context_->Stream(stream).Synchronize();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDeviceFault) throw;
    }
  }
}

uint64_t SoakWorker::Reference() {
  flex::FlexStream& stream = context_->DefaultStream();
  const flex::DeviceHandle memory = context_->Allocate(256 << 10);
  const uint64_t begin = transport_.NowPs();
  Copy(stream, true, memory, 256 << 10);
  Launch(stream, kReferenceProgram);
  Copy(stream, false, memory, 256 << 10);
  stream.Synchronize();
  const uint64_t took = transport_.NowPs() - begin;
  context_->Free(memory);
  return took;
}

uint64_t SoakWorker::outstanding() const {
  const driver::QueueStatistics queue = context_->QueueStatistics();
  return queue.submitted - queue.completed;
}

uint64_t SoakWorker::allocations() const {
  const flex::MemoryStatistics memory = context_->Statistics(flex::MemoryKind::kTensor);
  return memory.live_allocations + memory.waiting_allocations;
}

uint64_t SoakWorker::given() const { return given_ + context_->QueueStatistics().submitted; }
uint64_t SoakWorker::answered() const { return answered_ + context_->QueueStatistics().completed; }

}  // namespace spyre::cosim
