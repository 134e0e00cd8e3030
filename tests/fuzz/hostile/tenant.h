// SPDX-License-Identifier: Apache-2.0
// A tenant that works on its virtual function as any other does: copies data in, adds two tensors
// on two cores, copies everything out, and compares each byte with what it knows. Its secret lies
// in its device memory, LX, registers, ring entries and host memory. Nothing here waits: Step looks
// at what has come. Any wrong byte, status or error is a failure of the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "driver/device.h"
#include "driver/host_buffer.h"
#include "model/contract/program.h"
#include "tests/fuzz/hostile/layout.h"
#include "tests/fuzz/hostile/secret.h"

namespace spyre::fuzz {

class Tenant {
 public:
  Tenant(driver::Transport& transport, driver::FunctionId function, uint64_t seed)
      : transport_(transport),
        device_(transport, function),
        secret_(seed),
        random_(seed + 1),
        in_(transport, function, kPlaceBytes),
        out_(transport, function, kPlaceBytes),
        program_(transport, function, kProgramBytes) {
    const std::vector<uint8_t> image = Image();
    std::memcpy(program_.data(), image.data(), image.size());
    secret_.Spread(in_.data(), kPlaceBytes);
    LeaveInRegisters();
    begun_ps_ = transport_.NowPs();
    Submit(Copy(Opcode::DMA_IN, program_, 1, kProgramBytes));
    device_.queue().RingDoorbell();
  }

  // Takes answers that have come; when the last one of a round has, checks it. `begin`: and begins
  // the next.
  void Step(bool begin = true) {
    while (const std::optional<Response> response = device_.queue().Poll()) {
      ASSERT_EQ(static_cast<Status>(response->status), Status::OK)
          << "function " << device_.function() << ", round " << rounds_ << ", "
          << OpcodeName(static_cast<Opcode>(response->opcode)) << ", fault address "
          << response->fault_address;
    }
    if (device_.queue().outstanding() > 0) return;
    if (begun_) Check();
    begun_ = false;
    if (begin && !::testing::Test::HasFatalFailure()) Begin();
  }
  bool idle() { return device_.queue().outstanding() == 0; }
  // In the region that is lent to others.
  void LeaveInSpare() {
    Submit(Copy(Opcode::DMA_IN, in_, 2, kPlaceBytes));
    device_.queue().RingDoorbell();
  }
  void LeaveInRegisters() {
    device_.registers().WriteScratch(static_cast<uint32_t>(secret_.word(3)));
  }

  driver::FunctionId function() const { return device_.function(); }
  const Secret& secret() const { return secret_; }
  uint64_t rounds() const { return rounds_; }
  uint64_t begun_ps() const { return begun_ps_; }      // of the round at hand
  uint64_t longest_ps() const { return longest_ps_; }  // of those that have ended
  driver::IoAddress host_address() const { return in_.io_address(); }

 private:
  static constexpr uint64_t kProgramBytes = 16 << 10;
  static constexpr uint64_t kTensorBytes = 16 << 10;  // a at 0, b and the sum behind it
  static constexpr uint64_t kSecretAt = 3 * kTensorBytes;

  // Cores 0 and 1 share a multicast of a and b and the secret, and each adds half of the sticks.
  static std::vector<uint8_t> Image() {
    Program program = Assemble(R"(
.program tenant
.cores 0x3
.lx 311296
.table 4
.core 0: 0
.core 1: 8192
.section load 0x3
  li r2, 16384
  li r3, 1
  li r4, 16384
  li r5, 3
  li r6, 65536
  li r7, 212992
  tab r1, 0
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r5
  tab r1, 1
  load r4, r1, r2, r3, r0, r0, r3, r0, r0, r5
  tab r1, 3
  load r6, r1, r7, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section vector 0x3
  creg r1, 0
  li r2, 32768
  li r3, 16384
  li r4, 64
  li r5, 1
  li r6, 128
  madd r2, r2, r1, 1
  madd r3, r3, r1, 1
  vbinary.add r2, r1, r3, r4, r5, r0, r0, r0, r6, r6, r6 wait=t1 signal=t2
.section store 0x3
  creg r1, 0
  li r2, 32768
  li r3, 8192
  li r4, 1
  tab r5, 2
  madd r2, r2, r1, 1
  madd r5, r5, r1, 1
  store r2, r5, r3, r4, r0, r0, r4, r0, r0 wait=t2
)");
    program.address_table = {SegmentAddress(0, 0), SegmentAddress(0, kTensorBytes),
                             SegmentAddress(0, 2 * kTensorBytes), SegmentAddress(0, kSecretAt)};
    return Encode(program);
  }
  // SEN169_FP16 of a whole number from 1 to 1023: exponent over bias 31, nine bits of fraction.
  static uint16_t Number(uint32_t value) {
    uint32_t exponent = 0;
    while ((value >> exponent) > 1) ++exponent;
    const uint32_t fraction = (value << 9 >> exponent) & 0x1FF;
    return static_cast<uint16_t>((exponent + 31) << 9 | fraction);
  }

  Message Copy(Opcode opcode, const driver::HostBuffer& host, uint32_t region, uint64_t bytes) {
    Message message;
    message.opcode = static_cast<uint8_t>(opcode);
    message.host_address = host.io_address();
    message.device_region = region;
    message.size_bytes = bytes;
    return message;
  }
  void Submit(Message message) {
    message.correlation = secret_.word(5);
    driver::Entry entry = message;
    ASSERT_TRUE(device_.queue().TrySubmit(entry));
  }
  void Begin() {
    begun_ = true;
    begun_ps_ = transport_.NowPs();
    numbers_.resize(kTensorBytes);
    for (size_t i = 0; i < kTensorBytes; ++i) {  // a, then b, of two bytes each
      numbers_[i] = 1 + static_cast<uint32_t>(random_() % 500);
      const uint16_t number = Number(numbers_[i]);
      std::memcpy(in_.data() + 2 * i, &number, 2);
    }
    std::memset(out_.data(), 0, kPlaceBytes);
    if (rounds_ % 8 == 0) Submit(Copy(Opcode::DMA_IN, program_, 1, kProgramBytes));
    Submit(Copy(Opcode::DMA_IN, in_, 0, kPlaceBytes));
    Message launch;
    launch.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
    launch.program_region = 1;
    launch.program_bytes = kProgramBytes;
    Submit(launch);
    Submit(Copy(Opcode::DMA_OUT, out_, 0, kPlaceBytes));
    device_.queue().RingDoorbell();
  }
  void Check() {
    ++rounds_;
    longest_ps_ = std::max(longest_ps_, transport_.NowPs() - begun_ps_);
    std::vector<uint8_t> expected(in_.data(), in_.data() + kPlaceBytes);
    const size_t count = kTensorBytes / 2;
    for (size_t i = 0; i < count; ++i) {
      const uint16_t sum = Number(numbers_[i] + numbers_[count + i]);
      std::memcpy(&expected[2 * kTensorBytes + 2 * i], &sum, 2);
    }
    for (size_t i = 0; i < kPlaceBytes; ++i) {
      ASSERT_EQ(out_.data()[i], expected[i])
          << "byte " << i << " of function " << device_.function() << ", round " << rounds_;
    }
    ASSERT_EQ(device_.registers().ReadScratch(), static_cast<uint32_t>(secret_.word(3)));
  }

  driver::Transport& transport_;
  driver::Device device_;
  const Secret secret_;
  std::mt19937_64 random_;
  driver::HostBuffer in_, out_, program_;
  std::vector<uint32_t> numbers_;
  bool begun_ = false;
  uint64_t rounds_ = 0, begun_ps_ = 0, longest_ps_ = 0;
};

}  // namespace spyre::fuzz
