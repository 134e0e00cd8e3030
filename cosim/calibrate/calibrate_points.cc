// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate_points.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"

namespace spyre::cosim {
namespace {

using compiler::OperationKind;

constexpr int64_t kMaxSize = int64_t{1} << 31;  // elements along one dimension, as in a workload
constexpr double kMaxUs = 1e12;

uint64_t Count(const JsonReader& point, const char* key, int64_t most) {
  return static_cast<uint64_t>(point.At(key).Integer(1, most));
}

const compiler::Operation& OperationOf(const JsonReader& op) {
  try {
    return compiler::RequireOperation(op.String());
  } catch (const Error& error) {
    if (op.value().is_string()) throw error.Within(op.where());
    throw;
  }
}

CalibrationPoint ParsePoint(const JsonReader& json) {
  CalibrationPoint point;
  const JsonReader op = json.At("op");
  point.op = op.String();
  point.operation = &OperationOf(op);
  if (point.operation->kind == OperationKind::kMatmul) {
    if (point.operation->name != "matmul") {
      throw BadInput("{}: a point has no batch; use op \"matmul\"", op.where());
    }
    json.RequireKeys({"op", "m", "k", "n", "split_m", "split_n", "cores", "predicted_us"});
    point.size.m = Count(json, "m", kMaxSize);
    point.size.k = Count(json, "k", kMaxSize);
    point.size.n = Count(json, "n", kMaxSize);
    if (json.Has("split_m") || json.Has("split_n")) {
      point.split.m = Count(json, "split_m", kMaxCores);
      point.split.n = Count(json, "split_n", kMaxCores);
    }
  } else {
    json.RequireKeys({"op", "rows", "cols", "cores", "predicted_us"});
    point.size.rows = Count(json, "rows", kMaxSize);
    point.size.cols = Count(json, "cols", kMaxSize);
  }
  if (json.Has("cores")) point.cores = Count(json, "cores", kMaxCores);
  if (point.split.m * point.split.n > point.cores) {
    throw BadInput("{}: split_m {} times split_n {} needs {} cores; cores is {}", json.where(),
                   point.split.m, point.split.n, point.split.m * point.split.n, point.cores);
  }
  const JsonReader time = json.At("predicted_us");
  if (!time.value().is_number() || !(time.value().get<double>() > 0) ||
      time.value().get<double>() > kMaxUs) {
    time.Fail(fmt::format("microseconds above 0 and up to {:g} are expected", kMaxUs));
  }
  point.reference_us = time.value().get<double>();
  return point;
}

}  // namespace

std::string CalibrationPoint::Where() const { return fmt::format("{}: points[{}]", file, index); }

std::string CalibrationPoint::Describe() const {
  if (operation->kind == OperationKind::kMatmul) {
    const std::string shape = fmt::format("{} {}x{}x{}", op, size.m, size.k, size.n);
    return split.m == 0 ? shape : fmt::format("{} split {}x{}", shape, split.m, split.n);
  }
  return fmt::format("{} {}x{}", op, size.rows, size.cols);
}

std::string CalibrationPoint::Family() const {
  switch (operation->kind) {
    case OperationKind::kUnary:
      return "unary";
    case OperationKind::kBinary:
      return "binary";
    case OperationKind::kReduction:
      return "reduction";
    case OperationKind::kSoftmax:
      return "softmax";
    case OperationKind::kMatmul:
      break;
  }
  return fmt::format("matmul-{}", cores);
}

std::vector<CalibrationPoint> ParseCalibration(const std::string& text, const std::string& name) {
  const nlohmann::json document = ParseJson(text, name);
  const JsonReader list = JsonReader(document, name).At("points");
  if (list.Size() == 0) list.Fail("at least one point is expected");
  std::vector<CalibrationPoint> points;
  for (size_t i = 0; i < list.Size(); ++i) {
    const std::string where = fmt::format("{}: points[{}]", name, i);
    points.push_back(ParsePoint(JsonReader(list.At(i).value(), where)));
    points.back().file = name;
    points.back().index = i;
  }
  return points;
}

std::vector<CalibrationPoint> ReadCalibration(const std::string& path) {
  return ParseCalibration(ReadFile(path, "calibration file"), path);
}

RunConfig PointConfig(const RunConfig& base, const CalibrationPoint& point) {
  RunConfig config = base;
  config.workload = WorkloadConfig();
  config.workload.op = point.op;
  config.workload.size = point.size;
  config.workload.split = point.split;
  config.workload.cores = point.cores;
  config.workload.functional = false;
  config.workload.verify = VerifyMode::kNone;
  config.trace.enabled = false;
  config.output.tensors = false;
  return config;
}

}  // namespace spyre::cosim
