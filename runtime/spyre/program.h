// The older runtime interface (seed 001): Instruction, Program and DMAEngine, synchronous, as a
// thin layer over SpyreStream. New code uses SpyreStream and LaunchKernel.
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
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// A single atomic unit of work: a compute with the preprocessing it needs. Copies are the same
// instruction.
class Instruction {
 public:
  explicit Instruction(SpyreCompute compute);
  Instruction(SpyreCompute compute, std::vector<PreProcessCompute> preprocess);
  explicit Instruction(Operation operation);

  const Operation& operation() const { return *operation_; }
  bool operator==(const Instruction& other) const { return operation_ == other.operation_; }

 private:
  std::shared_ptr<const Operation> operation_;
};

class Program {
 public:
  explicit Program(SpyreStream& stream);             // instructions are added by hand
  Program(SpyreStream& stream, ExecutionPlan plan);  // filled when DMAEngine copies it

  void AddInstruction(const Instruction& instruction);
  void RemoveInstruction(
      const Instruction& instruction);  // BadInput if it is not part of the program
  const std::vector<Instruction>& instructions() const { return instructions_; }

  // Shapes must be exactly the compiled ones.
  void Launch(const std::vector<SpyreTensor>& tensors);
  // Loops over tensors larger than the compiled tile. The tiles run in order on one stream, so that
  // each has finished before the next starts; the call waits for the last.
  void LaunchTiled(const std::vector<SpyreTensor>& tensors);

  uint64_t size_bytes() const { return plan_.program_bytes(); }  // program memory it needs

 private:
  friend class DMAEngine;
  void RequireLoaded() const;

  SpyreStream& stream_;
  ExecutionPlan plan_;
  std::vector<Instruction> instructions_;
};

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
  // launched.
  void Copy(Program& program, const DeviceHandle& location_in_segment);
  // A host tensor, in the default stick layout, to memory that the caller has allocated.
  SpyreTensor Copy(const CPUTensor& tensor, const DeviceHandle& location_in_segment);
  // A device tensor back to host memory.
  void Copy(const SpyreTensor& tensor, const CPUTensor& location_on_host);

 private:
  SpyreStream& stream_;
};

}  // namespace spyre::runtime
