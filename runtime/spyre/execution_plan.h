// SPDX-License-Identifier: Apache-2.0
// ExecutionPlan: the compiler's output as the runtime keeps it: what to put on the device once, and
// which Operations a launch consists of (the runtime RFC). A passive structure: LoadPlan puts it on
// a device, SpyreStream runs its Operations.
//
// Made by the application, one for each kernel; cached and launched many times, from any stream.
// Launches do not change it. Errors: Error(kBadInput), see spyre_code.h.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_code.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

class ExecutionPlan {
 public:
  ExecutionPlan() = default;                                       // Operations are added by hand
  explicit ExecutionPlan(const std::filesystem::path& directory);  // a SpyreCode directory
  explicit ExecutionPlan(SpyreCode code);

  const std::string& name() const { return code_.name; }
  // Expected tensors in launch order, outputs included; empty if the compiler did not say.
  const std::vector<TensorMetadata>& tensor_input_metadata() const { return code_.arguments; }
  // In order. Of a plan from the compiler, their handles are places until it is loaded, and they
  // cannot be launched before. Each takes of the plan's tensors those that its own correction names
  // (Operation::takes), and one that is the plan's only compute takes them all.
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<CorrectionMetadata>& correction_metadata() const { return corrections_; }
  const std::vector<InitPacket>& init_packets() const { return code_.init_packets; }
  uint64_t program_bytes() const { return code_.allocation_bytes; }  // allocation it needs

  void AddOperation(Operation operation) { operations_.push_back(std::move(operation)); }

  bool loaded() const { return loaded_ || code_.exec_plan.empty(); }
  // The buffer that a device-to-host transfer of the plan fills, by its host handle; null if there
  // is none. Valid after the stream of the launch has synchronised.
  const uint8_t* HostBuffer(const std::string& host_handle) const;

  // Called by LoadPlan: makes the Operations for a program allocation that starts at `location`.
  // `storage` owns the allocation, or is empty when the caller does.
  void Bind(const DeviceHandle& location, std::shared_ptr<const DeviceStorage> storage);

 private:
  void MakeOperations(const DeviceHandle& location);
  void CloseOperation(const DeviceHandle& location, std::vector<PreProcessCompute>& steps,
                      std::vector<DeviceComputeStep>& computes);
  SpyreCompute MakeCompute(const DeviceHandle& location, const DeviceComputeStep& step,
                           std::vector<PreProcessCompute>& steps, Operation::Takes* takes) const;
  // The binary at `offset` is a program of core 0 alone, as corrections are.
  bool IsOfCoreZero(uint64_t offset) const;
  CopyToDevice CorrectionCopy(const TransferStep& transfer, const DeviceHandle& location) const;

  SpyreCode code_;
  std::vector<Operation> operations_;
  std::vector<std::shared_ptr<const void>> identities_;  // of those from code_
  size_t computes_ = 0;                                  // operations of code_ with a compute
  std::vector<CorrectionMetadata> corrections_;
  std::map<std::string, std::shared_ptr<uint8_t[]>> host_buffers_;
  std::shared_ptr<const DeviceStorage> storage_;
  bool loaded_ = false;
};

// Workflow 2: allocates program memory, copies every init packet with a data-movement Operation,
// and makes the plan's Operations. Asynchronous: launches on the same stream may follow at once;
// before using another stream, synchronise this one. BadInput if the plan is already loaded.
void LoadPlan(SpyreStream& stream, ExecutionPlan& plan);
// The same into memory that the caller has allocated: `location` is the start of an allocation of
// program memory of this context with at least plan.program_bytes(), else BadInput.
void LoadPlanAt(SpyreStream& stream, ExecutionPlan& plan, const DeviceHandle& location);

}  // namespace spyre::runtime
