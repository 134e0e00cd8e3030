// SPDX-License-Identifier: Apache-2.0
// What a copy between host and card does to a tensor on its way: strided boxes of elements, and the
// formats on both sides. Plain data. C++17.
#pragma once

#include <util/sendefs/sendefs.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

// One box of elements: dimensions from the fastest to the slowest; strides and offsets in elements
// of the side that they are of.
struct data_conversion_stride_info {
  std::vector<int64_t> size_;
  std::vector<int64_t> stride_src_;
  std::vector<int64_t> stride_dst_;
  int64_t offset_src_ = 0;
  int64_t offset_dst_ = 0;
};

struct data_conversion_info {
  std::string dci_dsName_;
  bool isHostToSen_ = false;
  DataFormats dataformat_src_ = DataFormats::INVALID;
  DataFormats dataformat_dst_ = DataFormats::INVALID;
  std::vector<data_conversion_stride_info> dcsi_;  // carried out in this order
  std::vector<int64_t> input_shape_;
  std::vector<int64_t> output_shape_;

  void exportJson(std::ostream& out) const;  // for logs
};
