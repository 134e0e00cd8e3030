// SPDX-License-Identifier: Apache-2.0
// Places a kernel's arguments in memory, runs it in the interpreter, and computes what it should
// have stored, in the documented order of additions.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/compiler/ops/op_list.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::compiler::harness {

using Shape = std::vector<int64_t>;
using Values = std::vector<uint16_t>;  // SEN169 codes in host order, contiguous

int64_t Elements(const Shape& shape);
Shape IndexOf(int64_t flat, const Shape& shape);

// A tensor in device memory, of which the kernel sees the box of `shape` at `origin`.
struct PlacedTensor {
  StickLayout layout;
  Shape origin;
  uint64_t base = 0;

  uint64_t ByteOf(const Shape& index) const;  // index in the box
};

Values RandomValues(const Shape& shape, std::mt19937& random);

// Runs the kernel on the inputs and returns its output. `places`: one per argument, or empty for
// tensors of exactly the kernel's shapes. Padding and everything around a box is NaN before the
// run; sticks outside the output box must be so after it.
Values RunKernel(const Kernel& kernel, const std::vector<Values>& inputs, uint32_t seed,
                 std::vector<PlacedTensor> places = {});

// Chunks of 64 in increasing order, slice by slice; partial results in the order of the slices,
// which are of whole units, the first ones longer by one where they are not equal.
template <typename Value>
float FoldSliced(ReduceFn fn, int64_t size, int64_t unit, int slices, Value value) {
  const int64_t units = (size + unit - 1) / unit;
  float total = 0;
  int64_t begin = 0;
  for (int slice = 0; slice < slices; ++slice) {
    const int64_t length = (units / slices + (slice < units % slices ? 1 : 0)) * unit;
    const int64_t end = std::min(size, begin + length);
    float partial = FoldStart(fn);
    for (int64_t first = begin; first < end; first += 64) {
      float chunk = FoldStart(fn);
      for (int64_t i = first; i < std::min(end, first + 64); ++i) {
        chunk = FoldValue(fn, chunk, value(i));
      }
      partial = FoldValue(fn, partial, chunk);
    }
    total = slice == 0 ? partial : FoldValue(fn, total, partial);
    begin = end;
  }
  return total;
}

Values Expected(const KernelSpec& spec, const Kernel& kernel, const std::vector<Values>& in);

// Compiles, runs and compares, bit for bit. `layouts` as in `places` of RunKernel.
void CheckKernel(const KernelSpec& given, uint32_t seed);

}  // namespace spyre::compiler::harness
