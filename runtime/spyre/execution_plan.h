// ExecutionPlan: the compiler's output as the runtime keeps it: what to put on the device once, and
// which Operations a launch consists of (seed 000). A passive structure: LoadPlan puts it on a
// device, SpyreStream runs its Operations.
//
// Made by the application, one for each kernel; cached and launched many times, from any stream.
// Not changed by launches. Errors: Error(kBadInput), see spyre_code.h.
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
  // In order; of a plan from the compiler, empty until it is loaded: only then have binaries
  // handles.
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
  void CloseOperation(const DeviceHandle& location, std::vector<PreProcessCompute>& steps,
                      std::vector<DeviceComputeStep>& computes);
  // The binary at `offset` is a program of core 0 alone, as corrections are.
  bool IsOfCoreZero(uint64_t offset) const;
  CopyToDevice CorrectionCopy(const TransferStep& transfer, const DeviceHandle& location) const;

  SpyreCode code_;
  std::vector<Operation> operations_;
  std::vector<CorrectionMetadata> corrections_;
  std::map<std::string, std::shared_ptr<uint8_t[]>> host_buffers_;
  std::shared_ptr<const DeviceStorage> storage_;
  bool loaded_ = false;
};

// Workflow 2: allocates program memory, copies every init packet with a data-movement Operation,
// and makes the plan's Operations. Asynchronous: launches on the same stream may follow at once;
// before using another stream, synchronise this one. BadInput if the plan is already loaded.
void LoadPlan(SpyreStream& stream, ExecutionPlan& plan);
// The same into memory that the caller has allocated, plan.program_bytes() of program memory.
void LoadPlanAt(SpyreStream& stream, ExecutionPlan& plan, const DeviceHandle& location);

}  // namespace spyre::runtime
