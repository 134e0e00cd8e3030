// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/op_spec_memory.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "cosim/reference/device_elements.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {

using compiler::Memory;
using compiler::TensorArg;

double OpSpecMemory::Region::Read(int64_t at, DataFormat format, int bytes,
                                  std::atomic<bool>& unwritten) const {
  if (element_bytes_ > 0) {
    const auto element = static_cast<size_t>(at / element_bytes_);
    if (element < written_.size() && written_[element]) return values_[element];
  }
  if (image_ != nullptr && at >= 0 && at + bytes <= static_cast<int64_t>(image_->size()))
    return DeviceValue(format, LoadBits(image_->data() + at, bytes));
  unwritten = true;
  return std::numeric_limits<double>::quiet_NaN();
}

void OpSpecMemory::Region::Write(int64_t at, int bytes, double value) {
  if (at < 0) throw BadInput("an element lies {} bytes before its tensor's memory", -at);
  // A region whose tensors have elements of several sizes is kept by the byte.
  if (element_bytes_ == 0) element_bytes_ = bytes;
  if (element_bytes_ != bytes && element_bytes_ != 1) {
    std::vector<double> values(values_.size() * static_cast<size_t>(element_bytes_));
    std::vector<bool> written(values.size(), false);
    for (size_t i = 0; i < values_.size(); ++i) {
      values[i * static_cast<size_t>(element_bytes_)] = values_[i];
      written[i * static_cast<size_t>(element_bytes_)] = written_[i];
    }
    values_ = std::move(values);
    written_ = std::move(written);
    element_bytes_ = 1;
  }
  const auto element = static_cast<size_t>(at / element_bytes_);
  if (element >= values_.size()) {
    values_.resize(element + 1 + element / 2);
    written_.resize(values_.size(), false);
  }
  values_[element] = value;
  written_[element] = true;
}

OpSpecMemory::OpSpecMemory(const ArgumentImages& images) : images_(images) {}

OpSpecMemory::Region& OpSpecMemory::Of(const TensorArg& arg) {
  if (arg.memory == Memory::kLx) return regions_[{Memory::kLx, arg.address}];
  // Scratch in device memory that is not an argument shares the pool's addresses.
  if (arg.memory == Memory::kPool || arg.arg_index < 0) return regions_[{Memory::kPool, 0}];
  const auto [entry, is_new] = regions_.try_emplace({Memory::kHbm, arg.arg_index});
  const auto image = images_.find(arg.arg_index);
  if (is_new && image != images_.end()) entry->second.image_ = &image->second;
  return entry->second;
}

int64_t OpSpecMemory::StartOf(const TensorArg& arg) {
  if (arg.memory == Memory::kLx) return 0;
  if (arg.memory == Memory::kPool || arg.arg_index < 0) return arg.address;
  // The coarse-tiling RFC gives an argument a segment, the newest front end its number.
  constexpr auto kSegment = static_cast<int64_t>(kSegmentBytes);
  return arg.address >= kSegment ? arg.address % kSegment : arg.address - arg.arg_index;
}

}  // namespace spyre::cosim
