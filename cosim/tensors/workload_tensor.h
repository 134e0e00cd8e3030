// SPDX-License-Identifier: Apache-2.0
// A tensor of a workload at full size: what it is on the host and how it lies on the device. Plain
// data, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "model/contract/stick_layout.h"

namespace spyre::cosim {

inline constexpr int64_t kMaxElements = 1ll << 42;  // of a tensor: beyond any card, within 64 bits

// What each of several cards has of an input: elements of its own, those that every card has, or
// its part of a whole that is divided along `dim`.
struct CardShare {
  enum class Kind : uint8_t { kOwn, kSame, kPart };
  Kind kind = Kind::kOwn;
  size_t dim = 0;
};

// A tensor as the host sees it, in C order.
struct WorkloadTensor {
  std::string name;  // "a", "b", "out"
  int position = 0;  // among the tensors of its workload
  bool is_input = true;
  bool is_output = false;  // with is_input: changed in place; neither: between two operations
  std::vector<int64_t> shape;
  DataFormat host_format = DataFormat::kIeeeFp16;
  StickLayout layout;              // on the device
  std::string file;                // input file, "" if generated
  std::optional<double> constant;  // of a constant of a list of operations: its one element
  bool causal = false;             // NamedTensor::causal
  CardShare share;                 // of several cards
  double mean = 0, scale = 1;      // of generated data: mean + scale * what the distribution gives
  std::optional<int64_t> whole_below;    // generated data are whole numbers from 0 on, below this
  std::shared_ptr<const HostData> data;  // of an input that the workload knows; null: as above

  int64_t elements() const;
  int64_t host_bytes() const;
};

}  // namespace spyre::cosim
