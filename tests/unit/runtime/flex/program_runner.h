// SPDX-License-Identifier: Apache-2.0
// Runs random programs through the runtime on the fake card. Kernels are launches of one program
// that every stream shares: a copy into it says which step it is, so a launch that another one gets
// into does the wrong work.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "driver/physical_function.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/flex/scheduling_policy.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/runtime/flex/program_calls.h"
#include "tests/unit/runtime/flex/random_program.h"

namespace spyre::test {

// Every combination with FunctionFor comes up within a few dozen seeds.
inline flex::RuntimeOptions OptionsFor(uint32_t seed, const char* hazards) {
  const std::vector<std::string> policies = flex::SchedulingPolicyNames();
  flex::RuntimeOptions options;
  options.scheduling = policies[seed % policies.size()];
  options.device.submission_entries = 2u << seed / 3 % 6;
  options.device.response_entries = 2u << seed / 5 % 6;
  options.hazards = hazards;
  return options;
}
inline driver::FunctionId FunctionFor(uint32_t seed) { return seed / 2 % 2; }

class ProgramRunner {
 public:
  // `function`: 0, or VF 1. `seed`: of the order that a pipelined card chooses; every fourth card
  // is serial.
  ProgramRunner(const RandomProgram& program, driver::FunctionId function,
                const flex::RuntimeOptions& options, uint32_t seed)
      : program_(program) {
    card_.pipelined = seed % 4 != 3;
    if (card_.pipelined) card_.shuffle.emplace(seed);
    if (function != 0) {
      driver::Device physical(card_, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    context_.emplace(card_, function, options);
    const flex::DeviceHandle memory = context_->Allocate(uint64_t{program.sticks} * kStick);
    kernel_ = context_->Allocate(kStick, flex::MemoryKind::kProgram);
    calls_.emplace(program, *context_, memory,
                   [this](flex::FlexStream& stream, size_t number, const Step& step) {
                     Launch(stream, number, step);
                   });
    card_.on_compute = [this](const FakeCard::Executed& operation) {
      uint64_t number;
      card_.ReadMemory(operation.block.program_base, &number, sizeof(number));
      const Step& step = program_.steps[number];
      const std::vector<uint8_t> mixed =
          Mix(step, Memory(step.to, step.count), Memory(step.from, step.count));
      card_.WriteMemory(Address(step.to), mixed.data(), mixed.size());
      return Status::OK;
    };
  }
  // Whatever is outstanding uses the memory of the calls.
  ~ProgramRunner() { context_.reset(); }
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  ProgramCalls& calls() { return *calls_; }
  flex::RuntimeContext& context() { return *context_; }
  ProgramResult Finish() {
    context_->Synchronize();
    return {Memory(0, program_.sticks), calls_->Outputs()};
  }

 private:
  void Launch(flex::FlexStream& stream, size_t number, const Step& step) {
    const flex::RuntimeContext::Batch batch(*context_);
    const uint64_t bytes = uint64_t{step.count} * kStick;
    const auto input = std::make_shared<std::vector<uint64_t>>(kStick / sizeof(uint64_t), number);
    flex::OperationInfo info;
    info.tag = number;
    info.launch = "mix";
    info.accesses = {{calls_->Place(step.from), bytes, false},
                     {calls_->Place(step.to), bytes, false},
                     {calls_->Place(step.to), bytes, true}};
    info.keep_alive = input;
    stream.CopyToDevice(input->data(), kernel_, kStick, info);
    flex::OperationInfo joined;
    joined.joined = true;
    stream.Launch(kernel_, joined);
  }
  uint64_t Address(uint32_t stick) const {
    const flex::DeviceHandle handle = calls_->Place(stick);
    if (flex::IsPhysical(handle)) return flex::RawOffset(handle);
    const auto& place = std::get<flex::VFDeviceHandle>(handle);
    return SegmentAddress(place.region_id, place.vf_offset);
  }
  std::vector<uint8_t> Memory(uint32_t stick, uint32_t count) {
    std::vector<uint8_t> bytes(size_t{count} * kStick);
    card_.ReadMemory(Address(stick), bytes.data(), bytes.size());
    return bytes;
  }

  const RandomProgram& program_;
  FakeCard card_;
  std::optional<flex::RuntimeContext> context_;
  std::optional<ProgramCalls> calls_;
  flex::DeviceHandle kernel_;
};

}  // namespace spyre::test
