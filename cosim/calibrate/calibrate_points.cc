// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "cosim/calibrate/measured_times.h"
#include "cosim/calibrate/points_csv.h"

namespace spyre::cosim {
namespace {

using compiler::OperationKind;

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
    json.RequireKeys({"op", "m", "k", "n", "split_m", "split_n", "split_k", "cores", "measured_us",
                      "predicted_us"});
    point.size.m = Count(json, "m", kMaxPointSize);
    point.size.k = Count(json, "k", kMaxPointSize);
    point.size.n = Count(json, "n", kMaxPointSize);
    if (json.Has("split_m") || json.Has("split_n") || json.Has("split_k")) {
      point.split.m = Count(json, "split_m", kMaxCores);
      point.split.n = Count(json, "split_n", kMaxCores);
      if (json.Has("split_k")) point.split.k = Count(json, "split_k", kMaxCores);
    }
  } else {
    json.RequireKeys({"op", "rows", "cols", "cores", "measured_us", "predicted_us"});
    point.size.rows = Count(json, "rows", kMaxPointSize);
    point.size.cols = Count(json, "cols", kMaxPointSize);
  }
  if (json.Has("cores")) point.cores = Count(json, "cores", kMaxCores);
  const uint64_t k_parts = std::max<uint64_t>(1, point.split.k);
  if (point.split.m * point.split.n * k_parts > point.cores) {
    const std::string k = k_parts > 1 ? fmt::format(" times split_k {}", k_parts) : "";
    throw BadInput("{}: split_m {} times split_n {}{} needs {} cores; cores is {}", json.where(),
                   point.split.m, point.split.n, k, point.split.m * point.split.n * k_parts,
                   point.cores);
  }
  const bool is_measured = json.Has("measured_us");
  if (is_measured && json.Has("predicted_us"))
    json.Fail("one of measured_us and predicted_us is expected, not both");
  const JsonReader time = json.At(is_measured ? "measured_us" : "predicted_us");
  if (!time.value().is_number() || !(time.value().get<double>() > 0) ||
      time.value().get<double>() > kMaxPointUs) {
    time.Fail(fmt::format("microseconds above 0 and up to {:g} are expected", kMaxPointUs));
  }
  point.reference_us = time.value().get<double>();
  return point;
}

std::vector<CalibrationPoint> ParseCsv(const std::string& text, const std::string& name) {
  std::vector<CalibrationPoint> points;
  for (const CsvPoint& line : PointsOfCsv(text, name)) {
    const std::string where = fmt::format("{}:{}", name, line.line);
    points.push_back(ParsePoint(JsonReader(line.members, where)));
    points.back().file = name;
    points.back().index = points.size() - 1;
    points.back().line = line.line;
  }
  return points;
}

}  // namespace

std::string CalibrationPoint::Where() const {
  return line != 0 ? fmt::format("{}:{}", file, line) : fmt::format("{}: points[{}]", file, index);
}

std::string CalibrationPoint::Describe() const {
  switch (form) {
    case Form::kConstant:
      return fmt::format("x + 1.0 {}x{}", size.rows, size.cols);
    case Form::kBroadcast:
      return fmt::format("add of a row {}x{}", size.rows, size.cols);
    case Form::kTranspose:
      return fmt::format("transpose {}x{}", size.rows, size.cols);
    case Form::kSoftmax:
      return fmt::format("softmax {}x{} in {} tile{}", size.rows, size.cols, coarse_tiles,
                         coarse_tiles == 1 ? "" : "s");
    case Form::kOperation:
      break;
  }
  if (operation->kind == OperationKind::kMatmul) {
    std::string shape = fmt::format("{} {}x{}x{}", op, size.m, size.k, size.n);
    if (split.m == 0) return shape;
    const std::string k = split.k > 1 ? fmt::format("x{}", split.k) : "";
    return fmt::format("{} split {}x{}{}", shape, split.m, split.n, k);
  }
  return fmt::format("{} {}x{}", op, size.rows, size.cols);
}

std::string CalibrationPoint::Family() const {
  if (!family.empty()) return family;
  switch (form) {
    case Form::kConstant:
      return "constant";
    case Form::kBroadcast:
      return "broadcast";
    case Form::kTranspose:
      return "transpose";
    case Form::kSoftmax:
      return "softmax";
    case Form::kOperation:
      break;
  }
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
  return split.k > 1 ? "matmul-k" : fmt::format("matmul-{}", cores);
}

std::vector<CalibrationPoint> ParseCalibration(const std::string& text, const std::string& name) {
  if (IsCsv(name)) return ParseCsv(text, name);
  const nlohmann::json document = ParseJson(text, name);
  const JsonReader whole(document, name);
  if (whole.Has("records")) return ReadMeasuredTimes(whole, name).points;
  const JsonReader list = whole.At("points");
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

namespace {

using Json = nlohmann::ordered_json;

// The list that a point is which is no operation of its own.
void SetList(const CalibrationPoint& point, WorkloadConfig& workload) {
  using Form = CalibrationPoint::Form;
  Json tensors = {{{"name", "x"}, {"dims", {"R", "C"}}}};
  Json op = {{"op", point.op}, {"inputs", {"x"}}, {"output", "y"}};
  Json ops = Json::array();
  switch (point.form) {
    case Form::kOperation:
      return;
    case Form::kConstant:
      op["inputs"].push_back(1.0);
      break;
    case Form::kBroadcast:
      tensors.push_back({{"name", "row"}, {"dims", {"C"}}});
      op["inputs"].push_back("row");
      break;
    case Form::kTranspose:
      op["dim"] = "R";
      break;
    case Form::kSoftmax:
      op["dim"] = "C";
      if (point.coarse_tiles == 1) break;
      // The compiler of the measurements copies each tile in and out, whether it stays in LX or
      // not.
      ops.push_back({{"op", "copy"}, {"inputs", {"x"}}, {"output", "tile"}});
      op["inputs"] = {"tile"};
      op["output"] = "result";
      workload.hints.json = DumpJson(Json::array({{{"slices", {{"R", point.coarse_tiles}}}}}));
      workload.hints.places = {point.Where()};
      break;
  }
  workload.size = {};
  workload.dims = {{"R", point.size.rows}, {"C", point.size.cols}};
  workload.tensors.json = DumpJson(tensors);
  workload.tensors.places.assign(tensors.size(), point.Where());
  ops.push_back(op);
  if (op["output"] != "y")
    ops.push_back({{"op", "copy"}, {"inputs", {op["output"]}}, {"output", "y"}});
  workload.ops.json = DumpJson(ops);
  workload.ops.places.assign(ops.size(), point.Where());
}

}  // namespace

RunConfig PointConfig(const RunConfig& base, const CalibrationPoint& point) {
  RunConfig config = base;
  config.workload = WorkloadConfig();
  if (point.form == CalibrationPoint::Form::kOperation) config.workload.op = point.op;
  config.workload.size = point.size;
  config.workload.split = point.split;
  config.workload.cores = point.cores;
  // As the compiler of the measurements divides a matmul whose division is not told.
  if (point.family == kDividedByCompiler)
    config.workload.division = compiler::SplitRule::kPublicCost;
  config.workload.functional = false;
  config.workload.verify = VerifyMode::kNone;
  SetList(point, config.workload);
  config.trace.enabled = false;
  config.output.tensors = false;
  return config;
}

}  // namespace spyre::cosim
