// SPDX-License-Identifier: Apache-2.0
// Programs that are assembled from text, loaded and run on cores, for the tests of rungs 6 and 10.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bringup/ladder/rung.h"
#include "model/contract/formats.h"
#include "model/contract/program.h"

namespace spyre::bringup {

inline constexpr size_t kSticks = 16;
inline constexpr size_t kElements = kSticks * 64;
class ProgramRung : public Rung {
 protected:
  void SetUp() override { runtime_ = Runtime(0); }
  void TearDown() override {
    runtime_.reset();
    Rung::TearDown();
  }

  flex::DeviceHandle Upload(const void* data, size_t bytes) {
    const flex::DeviceHandle handle = runtime_->Allocate(bytes);
    runtime_->DefaultStream().CopyToDevice(data, handle, bytes);
    runtime_->DefaultStream().Synchronize();
    return handle;
  }
  template <typename T>
  std::vector<T> Download(const flex::DeviceHandle& handle, size_t count) {
    std::vector<T> data(count);
    runtime_->DefaultStream().CopyFromDevice(data.data(), handle, count * sizeof(T));
    runtime_->DefaultStream().Synchronize();
    return data;
  }
  // Runs `text` with the addresses of `tensors` as its address table.
  flex::CompletedOperation Run(const std::string& text,
                               const std::vector<flex::DeviceHandle>& tensors) {
    std::vector<uint64_t> addresses;
    addresses.reserve(tensors.size());
    for (const auto& tensor : tensors) addresses.push_back(flex::ToDeviceVirtual(tensor));
    return RunAt(text, addresses);
  }
  // The same with any addresses.
  flex::CompletedOperation RunAt(const std::string& text, const std::vector<uint64_t>& addresses) {
    Program program = Assemble(text);
    program.address_table = addresses;
    std::vector<uint8_t> image = Encode(program);
    image.resize(AlignUp(image.size(), kStickBytes));
    const auto handle = runtime_->Allocate(image.size(), flex::MemoryKind::kProgram);
    runtime_->DefaultStream().CopyToDevice(image.data(), handle, image.size());
    runtime_->DefaultStream().Launch(handle);
    runtime_->DefaultStream().Synchronize();
    return runtime_->CompletedOperations().back();
  }

  // One core: both inputs (16 sticks each) to LX 0 and 2048, `vector` with r1 = 4096 the result, r2
  // = 0 and r3 = 2048 the inputs, r4 = 1, r5 = 16 rows, r6 = 128 the row stride; then `out_bytes`
  // of LX 4096 to memory.
  template <typename T = uint16_t>
  std::vector<T> Vector(const std::string& vector, const std::vector<uint16_t>& a,
                        const std::vector<uint16_t>& b, size_t count = kElements) {
    const auto source = Upload(a.data(), 2048);
    const auto other = Upload(b.data(), 2048);
    const auto target = runtime_->Allocate(AlignUp(count * sizeof(T), kStickBytes));
    Run(fmt::format(R"(
.program vector
.cores 0x1
.lx 16384
.table 3
.section load 0x1
  tab r1, 0
  tab r2, 1
  li r3, 2048
  li r4, 1
  load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0
  load r3, r2, r3, r4, r0, r0, r4, r0, r0, r0 signal=t1
.section vector 0x1
  li r1, 4096
  li r3, 2048
  li r4, 1
  li r5, 16
  li r6, 128
  li r7, 8192
  li r8, 256
  li r9, 64
  li r10, 4
  nop wait=t1
  {}
  nop signal=t2
.section store 0x1
  tab r1, 2
  li r2, {}
  li r3, 4096
  li r4, 1
  store r3, r1, r2, r4, r0, r0, r4, r0, r0 wait=t2
)",
                    vector, AlignUp(count * sizeof(T), kStickBytes)),
        {source, other, target});
    std::vector<T> out = Download<T>(target, AlignUp(count * sizeof(T), kStickBytes) / sizeof(T));
    out.resize(count);
    return out;
  }

  // Values of every kind: zeros, ones, small, large, both signs, NaN.
  static std::vector<uint16_t> Values(uint32_t seed, bool specials = true) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-6, 6);
    std::vector<uint16_t> values(kElements);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] =
          i % 4 == 0 && specials ? static_cast<uint16_t>(random()) : DlfFromFloat(uniform(random));
    }
    if (specials) values[0] = 0x0000, values[1] = 0x8000, values[2] = 0x7FFF, values[3] = 0xFFFF;
    return values;
  }

  std::unique_ptr<flex::RuntimeContext> runtime_;
};

class Rung6Programs : public ProgramRung {};

}  // namespace spyre::bringup
