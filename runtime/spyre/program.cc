// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/program.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/joined.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::runtime {

Instruction::Instruction(const SpyreCompute& compute) : Instruction(Operation(compute)) {}

Instruction::Instruction(SpyreCompute compute, std::vector<PreProcessCompute> preprocess)
    : Instruction(Operation(std::move(compute), std::move(preprocess))) {}

Instruction::Instruction(Operation operation)
    : operation_(std::make_shared<const Operation>(std::move(operation))) {}

Program::Program(SpyreStream& stream) : stream_(stream) {}

Program::Program(SpyreStream& stream, ExecutionPlan plan)
    : stream_(stream), plan_(std::move(plan)) {
  for (const Operation& operation : plan_.operations()) AddInstruction(Instruction(operation));
}

void Program::AddInstruction(const Instruction& instruction) {
  instructions_.push_back(instruction);
}

void Program::RemoveInstruction(const Instruction& instruction) {
  const auto it = std::find(instructions_.begin(), instructions_.end(), instruction);
  if (it == instructions_.end()) {
    throw BadInput("{} is not an instruction of program '{}'", Describe(instruction.operation()),
                   plan_.name());
  }
  instructions_.erase(it);
}

void Program::Run(const std::vector<SpyreTensor>& tensors, Routing routing) {
  if (!plan_.loaded()) {
    throw BadInput("program '{}' is not on the device; DMAEngine::Copy comes first", plan_.name());
  }
  std::vector<KernelLaunch> launches;
  for (const Instruction& instruction : instructions_) {
    launches.push_back({&instruction.operation(), {}});
  }
  LaunchOptions options;
  options.routing = routing;
  LaunchOperations(stream_, launches, tensors, options);
  stream_.Synchronize();
}

void Program::Launch(const std::vector<SpyreTensor>& tensors) { Run(tensors, Routing::kStrict); }

void Program::LaunchTiled(const std::vector<SpyreTensor>& tensors) {
  Run(tensors, Routing::kTiled);
}

void LaunchKernel(Program& program, const std::vector<SpyreTensor>& tensors) {
  program.Run(tensors, Routing::kAuto);
}

void DMAEngine::Copy(Program& program, const DeviceHandle& location_in_segment) {
  LoadPlanAt(stream_, program.plan_, location_in_segment);
  stream_.Synchronize();
  // The instructions that are of the plan have places on the device now.
  for (Instruction& instruction : program.instructions_) {
    for (const Operation& operation : program.plan_.operations()) {
      if (operation.identity() == nullptr ||
          operation.identity() != instruction.operation().identity())
        continue;
      instruction.operation_ = std::make_shared<const Operation>(operation);
    }
  }
}

SpyreTensor DMAEngine::Copy(const CPUTensor& tensor, const DeviceHandle& location_in_segment) {
  SpyreTensor device =
      TensorAt(location_in_segment, DefaultLayout(tensor.shape, DeviceFormatOf(tensor.format)));
  CopyTensorToDevice(stream_, device, tensor.data, tensor.format);
  stream_.Synchronize();
  return device;
}

void DMAEngine::Copy(const SpyreTensor& tensor, const CPUTensor& location_on_host) {
  if (tensor.shape != location_on_host.shape) {
    throw BadInput("copy of {} to a host tensor of shape [{}]", ToString(tensor),
                   Joined(location_on_host.shape, ", "));
  }
  CopyTensorFromDevice(stream_, tensor, location_on_host.data, location_on_host.format);
  stream_.Synchronize();
}

}  // namespace spyre::runtime
