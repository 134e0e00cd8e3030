// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a random program on a context.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "runtime/flex/runtime_context.h"
#include "tests/unit/runtime/flex/random_program.h"

namespace spyre::test {

class ProgramCalls {
 public:
  // Enqueues a kKernel.
  using Kernel = std::function<void(flex::FlexStream& stream, size_t number, const Step& step)>;

  // The first stick of the memory is at `memory`. Copies are tagged with the number of the step.
  ProgramCalls(const RandomProgram& program, flex::RuntimeContext& context,
               const flex::DeviceHandle& memory, Kernel kernel)
      : program_(program),
        context_(context),
        memory_(memory),
        kernel_(std::move(kernel)),
        host_(program.steps.size()) {
    for (uint32_t i = 0; i < program.events; ++i) events_.emplace_back(context);
  }

  void Make(size_t i) { Make(i, context_.Stream(program_.steps[i].stream)); }
  // On another stream than the program names.
  void Make(size_t i, flex::FlexStream& stream) {
    const Step& step = program_.steps[i];
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
      case Step::Kind::kKernel:
        return kernel_(stream, i, step);
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
  void MakeAll() {
    for (size_t i = 0; i < program_.steps.size(); ++i) Make(i);
  }
  // What the kOut have read, by step; after Synchronize.
  std::map<size_t, std::vector<uint8_t>> Outputs() const {
    std::map<size_t, std::vector<uint8_t>> outputs;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (program_.steps[i].kind == Step::Kind::kOut) outputs[i] = host_[i];
    }
    return outputs;
  }
  flex::DeviceHandle Place(uint32_t stick) const {
    return flex::Offset(memory_, int64_t{stick} * kStick);
  }

 private:
  const RandomProgram& program_;
  flex::RuntimeContext& context_;
  flex::DeviceHandle memory_;
  Kernel kernel_;
  std::vector<std::vector<uint8_t>> host_;  // by step; must outlive what is outstanding
  std::vector<flex::Event> events_;
};

}  // namespace spyre::test
