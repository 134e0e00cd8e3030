// SPDX-License-Identifier: Apache-2.0
// Operation: a unit of work for SpyreStream: an optional compute and the steps that must run before
// it (the runtime RFC). Plain values; copies are cheap and share nothing but the binaries' memory.
//
// Sizes in bytes. Made by ExecutionPlan::Load, by the tensor copies, or by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/contract/stick_layout.h"
#include "runtime/flex/device_handle.h"

namespace spyre::runtime {

using flex::DeviceHandle;
class ProgramReplicas;

// What one record of the correction input describes: a launch argument, or the value of a dimension
// that is given at launch.
struct CorrectionSource {
  enum class Kind : uint8_t { kArgument, kDimension };
  Kind kind = Kind::kArgument;
  int index = 0;
};

// Program correction: what the host assembles for one launch.
struct CorrectionMetadata {
  uint64_t size_bytes = 0;  // of the input buffer, 64 bytes for each record, rounded up to 128
  std::vector<CorrectionSource> records;
};

struct CopyToDevice {
  const void* host_address = nullptr;  // unused when `correction` is set
  DeviceHandle device_handle;
  uint64_t size = 0;
  // Set: the data is not at host_address, it is assembled from the arguments of each launch.
  std::optional<CorrectionMetadata> correction;
  std::shared_ptr<const void> keep_alive;  // owner of host_address; released after completion
  std::string label;
  bool bulk = false;  // tensor data: not moved in a timing-only run
};

struct CopyFromDevice {
  void* host_address = nullptr;
  DeviceHandle device_handle;
  uint64_t size = 0;
  std::shared_ptr<const void> keep_alive;
  std::string label;
  bool bulk = false;
  std::function<void()> then;  // after completion, as flex::OperationInfo::then
};

// Runs a binary that is already on the device, for example program correction.
struct DeviceLaunch {
  DeviceHandle device_handle;
  std::string name;
  bool prepare = false;  // as flex::OperationInfo::prepare
};

// Each maps to one FlexStream call.
using PreProcessCompute = std::variant<CopyToDevice, CopyFromDevice, DeviceLaunch>;

// What a compute expects of one launch argument; from the compiler's metadata.
struct ArgumentInfo {
  std::string name;  // "a", "b", "out"
  bool is_output = false;
  StickLayout layout;  // of a tensor of exactly the compiled shape
};

// A dimension whose size, a number of loop trips, is given at launch.
struct DimensionInfo {
  std::string name;
  int64_t max = 1;          // largest value
  int64_t granularity = 1;  // a value is a positive multiple
};

// Set for a kernel whose sums go from launch to launch (docs/tiled-launches.md "Tiling a
// reduction"). A launch of it gives one location more than it has arguments, the last one;
// reduction_tiling.h makes it.
struct AccumulationInfo {
  bool in_lx = false;  // the accumulators stay in LX; else they are in the workspace
  std::string dim;     // that is summed over
  int64_t slices = 1;  // of it, over cores, each with accumulators of its own
  int64_t slice = 0;   // elements of a slice in one launch
  int64_t unit = 1;    // elements that distances of slices are counted in
  uint64_t workspace_bytes = 0;
  uint16_t mark = 0;  // in_lx: fills the workspace after the last launch, if LX was left alone
};

// What a compute of a plan from the compiler knows of its plan.
struct ComputeOrigin {
  std::vector<PreProcessCompute> steps;  // that lead to it: they tell the program its tensors
  std::shared_ptr<const void> program;   // keeps the memory of the binaries
  bool loaded = false;                   // its handles are set
};

struct SpyreCompute {
  DeviceHandle device_handle;  // the binary; set when the plan is loaded
  std::string name;
  // One entry for each launch argument, outputs included: the compiled tile's shape, the names of
  // its dimensions (equal names are one loop of the kernel), and what else is known.
  std::vector<std::vector<int64_t>> expected_input_shapes;
  std::vector<std::vector<std::string>> dimension_names;
  std::vector<std::string> reduction_dims;  // names that the kernel sums over
  std::vector<ArgumentInfo> arguments;
  std::vector<DimensionInfo> dimensions;  // values that a launch must give
  std::optional<AccumulationInfo> accumulation;
  std::shared_ptr<const std::vector<std::string>> index_tensors;  // for messages; null: none
  std::shared_ptr<const ComputeOrigin> origin;                    // null: made by hand
};

class Operation {
 public:
  // A compute of a plan brings the steps that correct its program. One that was made by hand has
  // none, and then a launch of it takes no tensors.
  explicit Operation(const SpyreCompute& compute);
  Operation(SpyreCompute compute, std::vector<PreProcessCompute> preprocess);
  explicit Operation(std::vector<PreProcessCompute> preprocess);  // no compute: data movement

  const std::optional<SpyreCompute>& compute() const { return compute_; }
  const std::vector<PreProcessCompute>& preprocess() const { return preprocess_; }
  // Of the binaries this Operation launches, in order: corrections, then the compute.
  const std::vector<DeviceHandle>& device_handles() const { return device_handles_; }

  // Keeps the memory of the binaries while the Operation, or a launch of it, is alive.
  void set_program(std::shared_ptr<const void> program) { program_ = std::move(program); }
  const std::shared_ptr<const void>& program() const { return program_; }
  // Of its binaries, for launches that overlap; null if it was made by hand.
  void set_replicas(std::shared_ptr<ProgramReplicas> replicas) { replicas_ = std::move(replicas); }
  const std::shared_ptr<ProgramReplicas>& replicas() const { return replicas_; }

  // Which of its plan's tensors and dimension values it takes, in order; empty: all of them.
  struct Takes {
    std::vector<size_t> tensors;
    std::vector<size_t> dimensions;
  };
  void set_takes(Takes takes) { takes_ = std::move(takes); }
  const std::optional<Takes>& takes() const { return takes_; }

  // Its binaries have places on the device. False: it is of a plan that is not loaded.
  void set_loaded(bool loaded) { loaded_ = loaded; }
  bool loaded() const { return loaded_; }
  // The same for the operation of a plan before and after loading; null if it was made by hand.
  void set_identity(std::shared_ptr<const void> identity) { identity_ = std::move(identity); }
  const std::shared_ptr<const void>& identity() const { return identity_; }

  // Some step tells the program where launch argument `index` is, or the value of the dimension.
  bool Binds(CorrectionSource::Kind kind, int index) const;

 private:
  std::optional<SpyreCompute> compute_;
  std::vector<PreProcessCompute> preprocess_;
  std::vector<DeviceHandle> device_handles_;
  std::shared_ptr<const void> program_;
  std::shared_ptr<ProgramReplicas> replicas_;
  std::optional<Takes> takes_;
  std::shared_ptr<const void> identity_;
  bool loaded_ = true;
};

// The same work: the same operation of a plan, or the same binaries, places, sizes and shapes.
bool operator==(const Operation& a, const Operation& b);
inline bool operator!=(const Operation& a, const Operation& b) { return !(a == b); }

// "operation 'matmul'", for messages.
std::string Describe(const Operation& operation);

}  // namespace spyre::runtime
