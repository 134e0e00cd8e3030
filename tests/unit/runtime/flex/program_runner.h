// Runs random programs through the runtime on the fake card. Kernels are launches of one program
// that every stream shares: a copy into it says which step it is, so a launch that another one gets
// into does the wrong work.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/physical_function.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/runtime/flex/random_program.h"

namespace spyre::test {

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
    context_ = std::make_unique<flex::RuntimeContext>(card_, function, options);
    memory_ = context_->Allocate(uint64_t{program.sticks} * kStick);
    kernel_ = context_->Allocate(kStick, flex::MemoryKind::kProgram);
    host_.resize(program.steps.size());
    for (uint32_t i = 0; i < program.events; ++i) events_.emplace_back(*context_);
    card_.on_compute = [this](const FakeCard::Executed& operation) {
      uint64_t number;
      card_.ReadMemory(operation.block.program_base, &number, sizeof(number));
      const Step& step = program_.steps[number];
      std::vector<uint8_t> to(size_t{step.count} * kStick);
      std::vector<uint8_t> from(to.size());
      card_.ReadMemory(Address(step.to), to.data(), to.size());
      card_.ReadMemory(Address(step.from), from.data(), from.size());
      to = Mix(step, to, from);
      card_.WriteMemory(Address(step.to), to.data(), to.size());
      return Status::OK;
    };
  }

  // Enqueues one call of the host.
  void Enqueue(size_t i) {
    const Step& step = program_.steps[i];
    flex::FlexStream& stream = context_->Stream(step.stream);
    const uint64_t bytes = uint64_t{step.count} * kStick;
    flex::OperationInfo info;
    info.tag = i;
    switch (step.kind) {
      case Step::Kind::kIn:
        host_[i] = HostData(step);
        return stream.CopyToDevice(host_[i].data(), Place(step.to), bytes, info);
      case Step::Kind::kFill:
        return stream.Fill(Place(step.to), bytes, step.value, info);
      case Step::Kind::kOut:
        host_[i].resize(bytes);
        return stream.CopyFromDevice(host_[i].data(), Place(step.from), bytes, info);
      case Step::Kind::kKernel: {
        const flex::RuntimeContext::Batch batch(*context_);
        info.launch = "mix";
        info.accesses = {{Place(step.from), bytes, false},
                         {Place(step.to), bytes, false},
                         {Place(step.to), bytes, true}};
        host_[i].resize(kStick);
        const uint64_t number = i;
        std::memcpy(host_[i].data(), &number, sizeof(number));
        stream.CopyToDevice(host_[i].data(), kernel_, kStick, info);
        flex::OperationInfo joined;
        joined.joined = true;
        return stream.Launch(kernel_, joined);
      }
      case Step::Kind::kRecord:
        return stream.Record(events_[step.event]);
      case Step::Kind::kWait:
        return stream.Wait(events_[step.event]);
      case Step::Kind::kSyncStream:
        return stream.Synchronize();
      case Step::Kind::kSyncEvent:
        return events_[step.event].Synchronize();
    }
  }
  void EnqueueAll() {
    for (size_t i = 0; i < program_.steps.size(); ++i) Enqueue(i);
  }
  ProgramResult Finish() {
    context_->Synchronize();
    ProgramResult result;
    result.memory.resize(size_t{program_.sticks} * kStick);
    card_.ReadMemory(Address(0), result.memory.data(), result.memory.size());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (program_.steps[i].kind == Step::Kind::kOut) result.outputs[i] = host_[i];
    }
    return result;
  }
  flex::RuntimeContext& context() { return *context_; }

 private:
  flex::DeviceHandle Place(uint32_t stick) const {
    return flex::Offset(memory_, int64_t{stick} * kStick);
  }
  uint64_t Address(uint32_t stick) const {
    const flex::DeviceHandle handle = Place(stick);
    if (flex::IsPhysical(handle)) return flex::RawOffset(handle);
    const auto& place = std::get<flex::VFDeviceHandle>(handle);
    return SegmentAddress(place.region_id, place.vf_offset);
  }

  const RandomProgram& program_;
  FakeCard card_;
  std::vector<std::vector<uint8_t>> host_;  // by step; outlives the context
  std::unique_ptr<flex::RuntimeContext> context_;
  flex::DeviceHandle memory_, kernel_;
  std::vector<flex::Event> events_;
};

}  // namespace spyre::test
