// SPDX-License-Identifier: Apache-2.0
// The older runtime interface (its RFC came before the runtime RFC): Instruction, Program and
// DMAEngine, synchronous, as a thin layer over SpyreStream. New code uses SpyreStream and
// LaunchKernel.
//
// Each works on one SpyreStream, which must outlive it. Threads: one at a time for each object.
// Every call returns when the card is done. Errors: as SpyreStream.
//
//   DMAEngine dma(stream);
//   Program program(stream, ExecutionPlan("kernel/"));
//   dma.Copy(program, context.Allocate(program.size_bytes(), flex::MemoryKind::kProgram));
//   SpyreTensor a = dma.Copy(CPUTensor{data, {64, 64}}, location);
//   program.Launch({a, b, out});
//   dma.Copy(out, CPUTensor{result, {64, 64}});
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// A single atomic unit of work: a compute with the preprocessing it needs. Copies are the same
// instruction.
class Instruction {
 public:
  explicit Instruction(const SpyreCompute& compute);
  Instruction(SpyreCompute compute, std::vector<PreProcessCompute> preprocess);
  explicit Instruction(Operation operation);

  const Operation& operation() const { return *operation_; }
  // By value: the same work.
  bool operator==(const Instruction& other) const { return *operation_ == *other.operation_; }

 private:
  friend class DMAEngine;
  std::shared_ptr<const Operation> operation_;
};

class Program {
 public:
  explicit Program(SpyreStream& stream);  // instructions are added by hand
  // Makes an instruction for each operation of the plan; the program runs when DMAEngine has copied
  // it.
  Program(SpyreStream& stream, ExecutionPlan plan);

  void AddInstruction(const Instruction& instruction);
  // The first that is equal; BadInput if none is.
  void RemoveInstruction(const Instruction& instruction);
  const std::vector<Instruction>& instructions() const { return instructions_; }

  // Every instruction is checked before the first is enqueued. Shapes must be exactly the compiled
  // ones.
  void Launch(const std::vector<SpyreTensor>& tensors);
  // Loops over tensors larger than the compiled tile. The tiles run in order on one stream, so that
  // each has finished before the next starts; the call waits for the last.
  void LaunchTiled(const std::vector<SpyreTensor>& tensors);

  uint64_t size_bytes() const { return plan_.program_bytes(); }  // program memory it needs

 private:
  friend class DMAEngine;
  friend void LaunchKernel(Program& program, const std::vector<SpyreTensor>& tensors);
  void Run(const std::vector<SpyreTensor>& tensors, Routing routing);

  SpyreStream& stream_;
  ExecutionPlan plan_;
  std::vector<Instruction> instructions_;
};

// The front end's entry point of the older interface: Launch where shapes are the compiled ones,
// LaunchTiled where they are not.
void LaunchKernel(Program& program, const std::vector<SpyreTensor>& tensors);

// A contiguous tensor in host memory.
struct CPUTensor {
  void* data = nullptr;
  std::vector<int64_t> shape;
  DataFormat format = DataFormat::kIeeeFp16;
};

class DMAEngine {
 public:
  explicit DMAEngine(SpyreStream& stream) : stream_(stream) {}

  // A program binary to program memory that the caller has allocated; the program can then be
  // launched. BadInput, and nothing is copied, unless the location is the start of an allocation of
  // program memory that is long enough.
  void Copy(Program& program, const DeviceHandle& location_in_segment);
  // A host tensor, in the default stick layout, to memory that the caller has allocated.
  SpyreTensor Copy(const CPUTensor& tensor, const DeviceHandle& location_in_segment);
  // A device tensor back to host memory.
  void Copy(const SpyreTensor& tensor, const CPUTensor& location_on_host);

 private:
  SpyreStream& stream_;
};

}  // namespace spyre::runtime
