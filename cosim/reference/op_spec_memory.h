// SPDX-License-Identifier: Apache-2.0
// The memory that an OpSpec source is worked out on, in real numbers: the kernel's arguments, the
// pool, and LX. Elements of LX are kept by the address of their tensor and by their place in the
// whole tensor, whichever cores have the parts. Reading is safe in any thread, writing is not.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/contract/formats.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {

using ArgumentImages = std::map<int, std::vector<uint8_t>>;  // on the device, by arg_index

class OpSpecMemory {
 public:
  // One piece of memory: an argument, the pool, or a tensor in LX.
  class Region {
   public:
    // The element at byte `at`; NaN where nothing has been written, which `unwritten` then says.
    double Read(int64_t at, DataFormat format, int bytes, std::atomic<bool>& unwritten) const;
    void Write(int64_t at, int bytes, double value);

   private:
    friend class OpSpecMemory;
    const std::vector<uint8_t>* image_ = nullptr;
    int element_bytes_ = 0;  // of `values_`
    std::vector<double> values_;
    std::vector<bool> written_;
  };

  // images: of the arguments that have data before the kernel; must outlive this.
  explicit OpSpecMemory(const ArgumentImages& images);

  Region& Of(const compiler::TensorArg& arg);
  // Byte in its region at which the tensor begins.
  static int64_t StartOf(const compiler::TensorArg& arg);

 private:
  const ArgumentImages& images_;
  std::map<std::pair<compiler::Memory, int64_t>, Region> regions_;
};

}  // namespace spyre::cosim
