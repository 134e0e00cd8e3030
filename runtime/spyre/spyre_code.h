// SPDX-License-Identifier: Apache-2.0
// A SpyreCode directory, read and checked: the two plans and the metadata of one kernel. The format
// is described in docs/spyrecode.md. Pure data and one reader; touches no device.
//
// Offsets in bytes from the start of the program allocation (segment 7), multiples of 128, and
// inside it: a SpyreCode that was read is consistent. Errors: Error(kBadInput) naming file, command
// index, key, value, and what would be right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/contract/stick_layout.h"
#include "runtime/spyre/operation.h"

namespace spyre::runtime {

// One InitTransfer: bytes that go to the program allocation when the plan is loaded.
struct InitPacket {
  std::string file;
  uint64_t offset = 0;
  std::shared_ptr<const std::vector<uint8_t>> data;
};

// Commands of the execution plan.
struct HostComputeStep {
  std::string output;  // host handle
  CorrectionMetadata correction;
};
struct TransferStep {
  bool to_host = false;
  std::string host_handle;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};
struct DeviceComputeStep {
  uint64_t offset = 0;
  std::string name;
};
using ExecStep = std::variant<HostComputeStep, TransferStep, DeviceComputeStep>;

// What the compiler says about one launch argument.
struct TensorMetadata {
  std::string name;
  bool is_output = false;
  std::vector<int64_t> shape;
  std::vector<std::string> dims;
  StickLayout layout;
};

struct SpyreCode {
  std::string name;
  std::filesystem::path directory;
  uint64_t allocation_bytes = 0;
  std::vector<InitPacket> init_packets;
  std::vector<ExecStep> exec_plan;
  std::vector<TensorMetadata> arguments;
  std::vector<DimensionInfo> dimensions;
  std::vector<std::string> reduction_dims;
  std::optional<AccumulationInfo> accumulation;
  std::vector<std::string> steps;          // of a bundle: the SDSC file of each step
  std::vector<std::string> index_tensors;  // names of those that choose where the program reads
};

SpyreCode ReadSpyreCode(const std::filesystem::path& directory);

}  // namespace spyre::runtime
