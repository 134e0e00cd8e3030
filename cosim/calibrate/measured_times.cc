// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/measured_times.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"

namespace spyre::cosim {
namespace {

using Form = CalibrationPoint::Form;

// What the records call an operation on rows and columns, and what it is here.
struct RowOperation {
  const char* recorded;
  const char* op;
  Form form;
};
constexpr std::array<RowOperation, 10> kRowOperations = {{
    {"-x", "neg", Form::kOperation},
    {"gelu(x)", "gelu", Form::kOperation},
    {"a+b", "add", Form::kOperation},
    {"x+1.0 (broadcast constant)", "add", Form::kConstant},
    {"a[R,C]+b[1,C]", "add", Form::kBroadcast},
    {"x.T contiguous (restickify)", "restickify", Form::kTranspose},
    {"sum(x,dim=-1)", "sum", Form::kOperation},
    {"amax(x,dim=-1)", "amax", Form::kOperation},
    {"mean(x,dim=-1)", "mean", Form::kOperation},
    {"softmax(x,dim=-1), one fused kernel", "softmax", Form::kOperation},
}};

bool IsMatmul(const std::string& op) { return op == "matmul" || op.rfind("a@b", 0) == 0; }

class RecordReader {
 public:
  RecordReader(const JsonReader& record, CalibrationPoint& point)
      : record_(record), point_(point) {}

  // Why the record is not a point; "": it is one now.
  std::string Read() {
    const std::string op = record_.At("op").String();
    point_.reference_us = Time();
    if (!record_.At("cores").value().is_number()) return "the number of cores is not told";
    point_.cores = static_cast<uint64_t>(record_.At("cores").Integer(1, kMaxCores));
    if (IsMatmul(op)) return Matmul(op);
    for (const RowOperation& known : kRowOperations)
      if (op == known.recorded) return Rows(known);
    if (record_.At("shape").value().is_null()) return "the shape is not told";
    return op.find("batched") != std::string::npos || op.rfind("bmm", 0) == 0
               ? "a batched matmul whose batches lie inside its tensors"
               : "an operation of several kernels, or of another software stack";
  }

 private:
  double Time() const {
    const JsonReader value = record_.At("value");
    const JsonReader unit = record_.At("unit");
    if (!value.value().is_number() || !(value.value().get<double>() > 0) ||
        value.value().get<double>() > kMaxPointUs) {
      value.Fail(fmt::format("a time above 0 and up to {:g} is expected", kMaxPointUs));
    }
    const std::string name = unit.String();
    if (name != "us" && name != "ms") unit.Fail("\"us\" or \"ms\" is expected");
    return value.value().get<double>() * (name == "ms" ? 1000 : 1);
  }

  static uint64_t Count(const JsonReader& table, const char* key) {
    return static_cast<uint64_t>(table.At(key).Integer(1, kMaxPointSize));
  }

  std::string Matmul(const std::string& op) {
    const JsonReader shape = record_.At("shape");
    point_.op = "matmul";
    point_.operation = &compiler::RequireOperation(point_.op);
    if (shape.Has("batch") && Count(shape, "batch") != 1)
      return "a batched matmul whose batches lie inside its tensors";
    point_.size.m = Count(shape, "m");
    point_.size.k = Count(shape, "k");
    point_.size.n = Count(shape, "n");
    const JsonReader division = record_.At("division");
    if (!division.value().is_object()) {
      if (op != "a@b, division chosen by the compiler") return "the division is not told";
      point_.family = kDividedByCompiler;
      return "";
    }
    point_.split.m = Count(division, "m");
    point_.split.n = Count(division, "n");
    point_.split.k = Count(division, "k");
    point_.cores = point_.split.m * point_.split.n * point_.split.k;
    if (point_.cores > kMaxCores)
      division.Fail(fmt::format("at most {} cores are expected", kMaxCores));
    return TakesLongerThanOneCore() ? "slower than one core alone by an order of magnitude" : "";
  }

  // Such a time is of something else than the kernel.
  bool TakesLongerThanOneCore() const {
    constexpr double kMacsPerUs = 1e6;  // of one core
    const Dims& size = point_.size;
    const double macs =
        static_cast<double>(size.m) * static_cast<double>(size.k) * static_cast<double>(size.n);
    return point_.reference_us > 10 * macs / kMacsPerUs + 1000;
  }

  std::string Rows(const RowOperation& known) {
    point_.op = known.op;
    point_.form = known.form;
    if (known.form == Form::kOperation) point_.operation = &compiler::RequireOperation(known.op);
    const std::vector<int64_t> shape = record_.At("shape").Integers(1, kMaxPointSize);
    if (shape.size() != 2) record_.At("shape").Fail("rows and columns are expected");
    point_.size.rows = static_cast<uint64_t>(shape[0]);
    point_.size.cols = static_cast<uint64_t>(shape[1]);
    const bool softmax =
        point_.operation != nullptr && point_.operation->kind == compiler::OperationKind::kSoftmax;
    if (softmax) point_.form = Form::kSoftmax;
    const JsonReader division = record_.At("division");
    if (!division.value().is_object() || !division.Has("coarse_tiles")) return "";
    const JsonReader tiles = division.At("coarse_tiles");
    if (tiles.value().is_null()) return "";
    const auto count = static_cast<uint64_t>(tiles.Integer(0, kMaxPointSize));
    if (count > 1) {
      if (!softmax) return "an operation in tiles that is not a softmax";
      if (point_.size.rows % count != 0) return "tiles that do not divide the rows";
      point_.coarse_tiles = count;
    }
    return "";
  }

  const JsonReader& record_;
  CalibrationPoint& point_;
};

}  // namespace

MeasuredTimes ReadMeasuredTimes(const JsonReader& document, const std::string& name) {
  MeasuredTimes times;
  const JsonReader records = document.At("records");
  const JsonReader sources = document.At("sources");
  for (size_t i = 0; i < records.Size(); ++i) {
    const JsonReader record(records.At(i).value(), fmt::format("{}: records[{}]", name, i));
    if (record.At("what").String() != "kernel time") {
      ++times.left_out["not the time of a kernel"];
      continue;
    }
    CalibrationPoint point;
    point.file = name;
    point.index = i;
    const auto source = static_cast<size_t>(
        record.At("source").Integer(0, static_cast<int64_t>(sources.Size()) - 1));
    point.source = sources.At(source).String();
    const std::string reason = RecordReader(record, point).Read();
    if (reason.empty()) {
      times.points.push_back(std::move(point));
    } else {
      ++times.left_out[reason];
    }
  }
  if (times.points.empty())
    records.Fail("at least one kernel time of a known operation is expected");
  return times;
}

}  // namespace spyre::cosim
