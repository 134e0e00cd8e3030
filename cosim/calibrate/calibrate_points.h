// SPDX-License-Identifier: Apache-2.0
// Calibration points: kernels whose device time is known from elsewhere, read from files of JSON or
// of comma-separated values.
//
// A file with `records` is one of measured times (measured_times.h). Any other is an object whose
// `points` is a list; every point has `op`, the time as `measured_us` or `predicted_us`, and the
// sizes of the operation: m, k, n for a matmul, rows and cols otherwise. It may have `cores` (32)
// and, a matmul, split_m, split_n and split_k (1; without the other two the compiler divides the
// work). Other keys of the file, which say where the figures are from, are not read. A file whose
// name ends in .csv has the same keys as columns (points_csv.h).
// Pure but for reading; any thread. Errors: Error(kBadInput) naming file, point and key.
#pragma once

#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {

// Every third point of a file is held out: parameters are fitted to the others, so that its error
// is a test of the model. The rule knows nothing of a point but its place in the file.
constexpr size_t kHeldOutEvery = 3;

constexpr int64_t kMaxPointSize = int64_t{1} << 31;  // elements along one dimension
constexpr double kMaxPointUs = 1e12;

// CalibrationPoint::family of matmuls whose division their source does not tell.
inline constexpr char kDividedByCompiler[] = "matmul-compiler";

struct CalibrationPoint {
  // How the point runs: as the operation that `workload.op` names, or as a list with x + 1.0, with
  // a row that is added to every row, with a transpose, or with a softmax in tiles of rows.
  enum class Form : uint8_t { kOperation, kConstant, kBroadcast, kTranspose, kSoftmax };

  std::string file;
  size_t index = 0;                                // in the file's list
  size_t line = 0;                                 // of a file of lines; 0: it has a list
  const compiler::Operation* operation = nullptr;  // null: it is none of its own
  std::string op;                                  // as the file calls it
  Form form = Form::kOperation;
  Dims size;
  Dims split;  // all 0: the compiler divides the work
  uint64_t cores = kMaxCores;
  uint64_t coarse_tiles = 1;  // of rows, one after the other
  double reference_us = 0;
  std::string source;  // of the time; "": the file does not say
  std::string family;  // given; "": by what it is

  bool held_out() const { return index % kHeldOutEvery == kHeldOutEvery - 1; }
  std::string Where() const;     // "times.json: points[3]", "times.csv:5"
  std::string Describe() const;  // "matmul 256x4096x256 split 4x8", "neg 64x8192"
  // Shortest name of the points that are judged together: unary, binary, reduction, softmax,
  // matmul-32, matmul-k (k divided); of lists constant, broadcast, transpose.
  std::string Family() const;
};

// The points of the text of one file; `name` is what messages call it.
std::vector<CalibrationPoint> ParseCalibration(const std::string& text, const std::string& name);
std::vector<CalibrationPoint> ReadCalibration(const std::string& path);

// `base` with the point as its only, timing-only workload.
RunConfig PointConfig(const RunConfig& base, const CalibrationPoint& point);

}  // namespace spyre::cosim
