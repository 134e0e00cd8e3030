// SPDX-License-Identifier: Apache-2.0
// The memory that the reference of a bundle works on: a byte image for each argument and for the LX
// of each core, and beside the bytes what the same elements would be worth without any rounding.
//
// Not thread safe but for reading. Errors: Error(kBadInput).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::cosim {

class BundleMemory {
 public:
  // One image for each argument, of so many bytes, then one for the LX of each of `cores`. Zero at
  // first. with_ideal: elements also have a value without rounding.
  BundleMemory(const std::vector<uint64_t>& argument_bytes, int cores, uint64_t lx_bytes,
               bool with_ideal);

  int LxImage(int core) const { return arguments_ + core; }
  bool has_ideal() const { return has_ideal_; }
  std::vector<uint8_t>& image(int index) { return images_[index]; }
  const std::vector<uint8_t>& image(int index) const { return images_[index]; }

  // The element at byte `at` without rounding: what StoreIdeal stored last, else the stored bits.
  double Ideal(int image, int64_t at, DataFormat format, int bytes) const;
  // The same for elements that were stored with another size: the bits count.
  // Call it after the bits have been stored.
  void StoreIdeal(int image, int64_t at, DataFormat format, int bytes, double value);
  // Whether any element of the image is worth something else than its bits.
  bool HasIdeal(int image) const { return !pages_[image].empty(); }

 private:
  static constexpr int64_t kPageBytes = 4096;
  struct Page {
    int element_bytes = 0;
    std::vector<double> values;
  };

  double Stored(int image, int64_t at, DataFormat format, int bytes) const;

  int arguments_;
  bool has_ideal_;
  std::vector<std::vector<uint8_t>> images_;
  // Pages that hold a value which differs from its bits; the others are absent.
  std::vector<std::vector<std::unique_ptr<Page>>> pages_;
};

}  // namespace spyre::cosim
