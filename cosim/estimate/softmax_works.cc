// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/softmax_works.h"

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/public_tiling.h"

namespace spyre::cosim {
namespace {

using model::VectorLoop;
using model::VectorWork;

constexpr uint64_t kSumBytes = 4;  // of a row, beside the stick of its maximum

uint64_t LargestPart(uint64_t whole, uint64_t parts) { return (whole + parts - 1) / parts; }

class SoftmaxOperations {
 public:
  explicit SoftmaxOperations(const SoftmaxSize& size)
      : bytes_(size.rows * size.row_sticks * compiler::kStick),
        rows_(LargestPart(size.rows, size.row_parts)),
        row_bytes_(size.row_sticks * compiler::kStick) {
    any_.cores = size.row_parts;
    any_.elements = size.rows * size.row_sticks * compiler::kStickElements;
    any_.rows_per_core = static_cast<double>(rows_);
    any_.run_bytes = rows_ * compiler::kStick;  // the rows of a stick's columns follow each other
  }

  std::vector<StepWork> Resident(uint64_t lx_bytes) {
    tiles_ = LargestPart(rows_ * (row_bytes_ + compiler::kStick + kSumBytes), lx_bytes);
    any_.elements /= tiles_;
    any_.rows_per_core /= static_cast<double>(tiles_);
    bytes_ /= tiles_;
    Add("load", VectorLoop::kNone, bytes_, 0);
    Add("maximum", VectorLoop::kReduce, 0, 0);
    Add("subtract", VectorLoop::kBroadcast, 0, 0);
    Add("exponential", VectorLoop::kFunction, 0, 0);
    Add("sum", VectorLoop::kReduce, 0, 0);
    Add("scale", VectorLoop::kBroadcast, 0, 0);
    Add("store", VectorLoop::kNone, 0, bytes_);
    return std::move(steps_);
  }

  std::vector<StepWork> ThroughMemory() {
    const auto sticks = static_cast<int64_t>(rows_ * row_bytes_ / compiler::kStick);
    any_.loop_sticks =
        static_cast<uint64_t>(compiler::PublicStreamSticks(sticks, compiler::kPublicTile, sticks));
    Add("maximum", VectorLoop::kReduce, bytes_, 0);
    Add("subtract", VectorLoop::kBroadcast, bytes_, bytes_);
    Add("exponential", VectorLoop::kFunction, bytes_, bytes_);
    Add("sum", VectorLoop::kReduce, bytes_, 0);
    Add("scale", VectorLoop::kBroadcast, bytes_, bytes_);
    return std::move(steps_);
  }

 private:
  void Add(const char* name, VectorLoop loop, uint64_t read, uint64_t written) {
    VectorWork work = any_;
    work.loop = loop;
    work.bytes_read = read;
    work.bytes_written = written;
    steps_.push_back({name, tiles_, /*cores_meet=*/false, work});
  }

  uint64_t bytes_;  // of the whole in device memory
  uint64_t rows_;   // of a core
  uint64_t row_bytes_;
  uint64_t tiles_ = 1;
  VectorWork any_;
  std::vector<StepWork> steps_;
};

}  // namespace

std::vector<StepWork> SoftmaxWorks(const SoftmaxSize& size) {
  const uint64_t of_core =
      LargestPart(size.rows, size.row_parts) * size.row_sticks * compiler::kStick;
  SoftmaxOperations steps(size);
  return compiler::KeepsSoftmaxRows(of_core) ? steps.Resident(size.lx_bytes)
                                             : steps.ThroughMemory();
}

}  // namespace spyre::cosim
