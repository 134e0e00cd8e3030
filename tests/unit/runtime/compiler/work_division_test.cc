// Every line of the sample cases in tests/data/cases, which come from the public compiler itself,
// and the promises of work division that hold for any operation.
#include "runtime/compiler/work_division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "model/contract/memory_map.h"
#include "runtime/compiler/ir_json.h"

namespace spyre::compiler {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Json> ReadCases(const std::string& file) {
  std::ifstream stream(std::string(SPYRE_SOURCE_DIR) + "/tests/data/cases/" + file);
  std::vector<Json> cases;
  for (std::string line; std::getline(stream, line);) cases.push_back(Json::parse(line));
  EXPECT_FALSE(cases.empty()) << file;
  return cases;
}

int Product(const std::vector<int>& splits) {
  return std::accumulate(splits.begin(), splits.end(), 1, std::multiplies<>());
}

Json Names(const std::vector<int>& variables, const std::vector<LoopVariable>& loops) {
  Json names = Json::array();
  for (int v : variables) names.push_back(loops[static_cast<size_t>(v)].name);
  return names;
}

Json EncodedJson(const std::optional<EncodedSplits>& encoded) {
  if (!encoded) return nullptr;
  Json json = {{"output", Json::object()}, {"reduction", Json::object()}};
  for (const auto& [key, split] : encoded->output) json["output"][std::to_string(key)] = split;
  for (const auto& [key, split] : encoded->reduction) {
    json["reduction"][std::to_string(key)] = split;
  }
  return json;
}

std::string LogKind(const std::string& line) { return line.substr(0, line.find(':')); }

// Levels only: the texts are free, and the samples name each kind of line once.
std::set<std::string> LogKinds(const std::vector<std::string>& log) {
  std::set<std::string> kinds;
  for (const std::string& line : log) kinds.insert(LogKind(line));
  return kinds;
}

// What the pass prints about one way of dividing the work.
void ExpectDivision(const OpIr& op, const WorkDivider& divider, const WorkDivision& division,
                    const std::vector<std::string>& span_log, const Json& expected) {
  Json splits = Json::object();
  Json slices = Json::object();
  for (int v : divider.iteration_space()) {
    const auto i = static_cast<size_t>(v);
    splits[op.loops[i].name] = division.splits[i];
    if (division.splits[i] == 1) continue;
    for (const auto& row : division.slice) slices[op.loops[i].name].push_back(row[i]);
  }
  EXPECT_EQ(splits, expected["splits"]);
  EXPECT_EQ(division.cores_used, expected["cores_used"]);
  EXPECT_EQ(slices, expected["core_to_slice"]);
  EXPECT_EQ(EncodedJson(divider.Encode(division.splits)), expected["encoded"]);
  EXPECT_EQ(division.k_fastest ? "k_fastest" : "first_loop_var_fastest", expected["core_order"]);
  for (size_t i = 0; i < divider.tensor_count(); ++i) {
    EXPECT_EQ(divider.PerCoreSpan(i, division.splits),
              expected["per_core_span_bytes"][divider.tensor(i).name]);
  }
  const std::vector<std::string> own_log(
      division.log.begin() + static_cast<std::ptrdiff_t>(span_log.size()), division.log.end());
  EXPECT_EQ(LogKinds(own_log), LogKinds(expected["log"]));
}

void ExpectRefused(const OpIr& op, int cores, const Json& error) {
  try {
    DivideWork(op, cores, false);
    FAIL() << "expected " << error;
  } catch (const CompileError& refused) {
    EXPECT_EQ(refused.type(), error["type"]);
    EXPECT_EQ(refused.message_kind(), error["message_kind"]);
    EXPECT_EQ(refused.kind(), ErrorKind::kBadInput);
  }
}

void ExpectSteps(const OpIr& op, const WorkDivider& divider, int cores, const Json& expected) {
  Json space = Json::array();
  Json sticks = Json::array();
  Json stick_vars = Json::object();
  for (int v : divider.iteration_space()) {
    const auto i = static_cast<size_t>(v);
    space.push_back({op.loops[i].name, op.loops[i].range});
    sticks.push_back({op.loops[i].name, divider.size_in_sticks()[i]});
    const int64_t elements = divider.elements_per_stick()[i];
    if (elements > 0) stick_vars[op.loops[i].name] = elements;
  }
  EXPECT_EQ(space, expected["iteration_space"]);
  EXPECT_EQ(sticks, expected["iteration_space_sticks"]);
  EXPECT_EQ(stick_vars, expected["stick_vars"]);
  const std::vector<int> unsplit(op.loops.size(), 1);
  for (size_t i = 0; i < divider.tensor_count(); ++i) {
    EXPECT_EQ(divider.PerCoreSpan(i, unsplit),
              expected["per_core_span_unsplit_bytes"][divider.tensor(i).name]);
  }
  if (expected.contains("must_split")) {
    std::vector<std::string> log;
    Json must = Json::object();
    for (const auto& [v, split] : divider.MustSplit(cores, &log)) {
      must[op.loops[static_cast<size_t>(v)].name] = split;
    }
    EXPECT_EQ(must, expected["must_split"]);
  }
}

TEST(WorkDivisionCases, EverySampleDividesAsThePublicCompilerDoes) {
  for (const Json& sample : ReadCases("work_division_cases.jsonl")) {
    SCOPED_TRACE(sample["id"].get<std::string>() + " " + sample["label"].get<std::string>());
    const OpIr op = OpFromJson(sample);
    const WorkDivider divider(op);
    const int cores = sample["sencores"];
    const Json& expected = sample["expected"];
    for (size_t i = 0; i < divider.tensor_count(); ++i) {
      const Json& texts = sample["tensors"][i]["device_coords"];
      for (size_t d = 0; d < texts.size(); ++d) {
        EXPECT_EQ(ToString(divider.coordinates(i)[d], op.loops), texts[d]);
      }
      EXPECT_EQ(divider.tensor(i).layout.device_size.back(),
                sample["tensors"][i]["elems_per_stick"]);
    }
    ExpectSteps(op, divider, cores, expected);
    if (expected.contains("error")) {
      ExpectRefused(op, cores, expected["error"]);
      continue;
    }
    std::vector<std::string> log;
    std::optional<EncodedSplits> committed;
    if (!op.IsTopK()) committed = divider.SpanReduction(cores, &log);
    EXPECT_EQ(EncodedJson(committed), expected["span_reduction_encoded"]);
    EXPECT_EQ(LogKinds(log), LogKinds(expected["span_reduction_log"]));
    const WorkDivider::Priorities priorities = divider.Prioritize(divider.Decode(committed));
    EXPECT_EQ(Names(priorities.output, op.loops), expected["priorities"]["output"]);
    EXPECT_EQ(Names(priorities.reduction, op.loops), expected["priorities"]["reduction"]);
    ExpectDivision(op, divider, DivideWork(op, cores, false), log, expected["work_distribution"]);
    if (!expected.contains("with_k_fast")) continue;
    const WorkDivision k_fast = DivideWork(op, cores, true);
    ExpectDivision(op, divider, k_fast, log, expected["with_k_fast"]);
    EXPECT_EQ(k_fast.k_fast_applied, expected["with_k_fast"]["k_fast_applied"]);
  }
}

TEST(WorkDivisionCases, CoreSplitIsTheLargestDivisorThatFits) {
  for (const Json& sample : ReadCases("core_split.jsonl")) {
    EXPECT_EQ(CoreSplit(sample["size"], sample["max_cores"]), sample["expected"]["split"])
        << sample["id"];
  }
}

std::vector<int> Positions(const Json& names, const std::vector<LoopVariable>& loops) {
  std::vector<int> positions;
  for (const Json& name : names) {
    for (size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].name == name) positions.push_back(static_cast<int>(i));
    }
  }
  return positions;
}

TEST(WorkDivisionCases, IterationSpaceSplitsAreThoseOfTheSamples) {
  for (const Json& sample : ReadCases("multi_dim_split.jsonl")) {
    SCOPED_TRACE(sample["id"].get<std::string>());
    const std::vector<LoopVariable> loops = LoopsFromJson(sample["iteration_space"]);
    std::vector<int64_t> size;
    for (const LoopVariable& loop : loops) size.push_back(loop.range);
    std::vector<std::pair<int, int>> min_splits;
    for (const Json& item : sample["min_splits"]) {
      min_splits.emplace_back(Positions({item[0]}, loops).at(0), item[1].get<int>());
    }
    const SpaceSplit result =
        SplitIterationSpace(size, sample["max_cores"], Positions(sample["output_dims"], loops),
                            Positions(sample["reduction_dims"], loops), min_splits);
    for (size_t i = 0; i < loops.size(); ++i) {
      EXPECT_EQ(result.splits[i], sample["expected"]["splits"][loops[i].name]);
    }
    EXPECT_EQ(Product(result.splits), sample["expected"]["cores_used"]);
    EXPECT_EQ(result.log.size(), sample["expected"]["critical_logged"]);
  }
}

TEST(WorkDivisionCases, SplitsAreStoredByCoefficientAndReadBackAsInTheSamples) {
  for (const Json& sample : ReadCases("split_encoding.jsonl")) {
    SCOPED_TRACE(sample["id"].get<std::string>());
    const std::vector<LoopVariable> loops = LoopsFromJson(sample["iteration_space"]);
    const auto index = [&](const char* key) {
      return IndexFromJson(sample[key]["coeff"], sample[key]["const"], loops);
    };
    std::vector<int> splits;
    for (const LoopVariable& loop : loops) splits.push_back(sample["splits"][loop.name]);
    const EncodedSplits encoded = EncodeSplits(splits, index("write_index"), index("read_index"));
    const Json& expected = sample["expected"];
    EXPECT_EQ(
        Json(std::vector<std::pair<int64_t, int>>(encoded.output.begin(), encoded.output.end())),
        expected["encoded"]["output"]);
    EXPECT_EQ(Json(std::vector<std::pair<int64_t, int>>(encoded.reduction.begin(),
                                                        encoded.reduction.end())),
              expected["encoded"]["reduction"]);
    const std::vector<int> decoded =
        DecodeSplits(encoded, index("write_index"), index("read_index"), loops);
    for (size_t i = 0; i < loops.size(); ++i) {
      EXPECT_EQ(decoded[i], expected["decoded"][loops[i].name]);
    }
  }
}

TEST(WorkDivisionCases, CoresGetTheSlicesOfTheSamples) {
  for (const Json& sample : ReadCases("core_to_slice.jsonl")) {
    for (const char* order : {"default", "k_fast"}) {
      if (!sample["expected"].contains(order)) continue;
      SCOPED_TRACE(sample["id"].get<std::string>() + " " + order);
      const std::vector<int> splits = sample["splits"];
      const auto slices = CoreToSlice(splits, std::string(order) == "k_fast");
      ASSERT_EQ(slices.size(), sample["cores"]);
      for (size_t d = 0; d < splits.size(); ++d) {
        Json column = Json::array();
        for (const auto& row : slices) column.push_back(row[d]);
        EXPECT_EQ(column, sample["expected"][order][sample["dims"][d].get<std::string>()]);
      }
    }
  }
}

TEST(WorkDivisionCases, DeviceCoordinatesAreThoseOfTheSamples) {
  for (const Json& sample : ReadCases("device_coordinates.jsonl")) {
    SCOPED_TRACE(sample["id"].get<std::string>());
    const std::vector<LoopVariable> loops = LoopsFromJson(sample["ranges"]);
    const IndexExpression index =
        IndexFromJson(sample["index"]["coeff"], sample["index"]["const"], loops);
    Json texts = Json::array();
    for (const Coordinate& coordinate : DeviceCoordinates(LayoutFromJson(sample), index, loops)) {
      texts.push_back(ToString(coordinate, loops));
    }
    EXPECT_EQ(texts, sample["expected"]["device_coordinates"]);
  }
}

// ---------------------------------------------------------------- promises for any operation

TensorAccess Tensor(const std::string& name, const std::vector<int64_t>& size,
                    const std::vector<int64_t>& coefficient) {
  TensorAccess tensor;
  tensor.name = name;
  tensor.layout = DefaultLayout(size, DataFormat::kSen169Fp16);
  tensor.index.coefficient = coefficient;
  return tensor;
}

OpIr Matmul(int64_t m, int64_t k, int64_t n) {
  OpIr op;
  op.name = "mm";
  op.kind = OpIr::Kind::kReduction;
  op.reduction_type = "batchmatmul";
  op.loops = {{"m", m}, {"n", n}, {"k", k}};
  op.inputs = {Tensor("a", {m, k}, {k, 0, 1}), Tensor("b", {k, n}, {0, 1, n})};
  op.output = Tensor("out", {m, n}, {n, 1, 0});
  return op;
}

TEST(DeviceCoordinates, WalkTheSameElementsAsTheLayoutPlacesThere) {
  EXPECT_TRUE(rc::check([] {
    const auto rank = *rc::gen::inRange<size_t>(1, 4);
    std::vector<int64_t> size(rank);
    for (int64_t& s : size) s = *rc::gen::element<int64_t>(1, 2, 3, 64, 65, 128, 200);
    const StickLayout layout = DefaultLayout(size, DataFormat::kSen169Fp16);
    std::vector<LoopVariable> loops;
    IndexExpression index{0, ContiguousStrides(size)};
    std::vector<int64_t> at(rank);
    for (size_t d = 0; d < rank; ++d) {
      loops.push_back({"d" + std::to_string(d), size[d]});
      at[d] = *rc::gen::inRange<int64_t>(0, size[d]);
    }
    const std::vector<Coordinate> coordinates = DeviceCoordinates(layout, index, loops);
    RC_ASSERT(IsStickCoordinate(coordinates.back(), 64));
    // The device address by coordinates against the one by the layout's strides, in elements.
    int64_t by_coordinates = 0;
    for (size_t d = 0; d < coordinates.size(); ++d) {
      by_coordinates = by_coordinates * layout.device_size[d] + coordinates[d].At(at);
    }
    int64_t by_layout = 0;
    for (size_t d = 0; d < rank; ++d) {
      const bool stick = d == rank - 1;
      by_layout += (stick ? at[d] / 64 : at[d]) * layout.DeviceByteStride(static_cast<int>(d)) / 2;
      if (stick) by_layout += at[d] % 64;
    }
    RC_ASSERT(by_coordinates == by_layout);
  }));
}

TEST(DeviceCoordinates, OnlyWholeSticksAreStickCoordinates) {
  const std::vector<LoopVariable> loops = {{"d0", 256}};
  const StickLayout layout = DefaultLayout({256}, DataFormat::kSen169Fp16);
  EXPECT_TRUE(IsStickCoordinate(DeviceCoordinates(layout, {0, {1}}, loops).back(), 64));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {1, {1}}, loops).back(), 64));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {0, {1}}, loops).back(), 32));
  EXPECT_FALSE(IsStickCoordinate(DeviceCoordinates(layout, {0, {2}}, loops).back(), 64));
  EXPECT_TRUE(IsStickCoordinate({}, 64));
}

TEST(WorkDivision, EveryPieceOfWorkIsDoneByExactlyOneCore) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *rc::gen::inRange<int64_t>(1, 300);
    const auto n = 64 * *rc::gen::inRange<int64_t>(1, 80);
    const auto k = 64 * *rc::gen::inRange<int64_t>(1, 80);
    const auto cores = *rc::gen::inRange(1, kMaxCores + 1);
    const OpIr op = Matmul(m, k, n);
    const WorkDivision division = DivideWork(op, cores, *rc::gen::arbitrary<bool>());
    RC_ASSERT(division.cores_used <= cores);
    RC_ASSERT(division.slice.size() == static_cast<size_t>(division.cores_used));
    RC_ASSERT(Product(division.splits) == division.cores_used);
    RC_ASSERT(m % division.splits[0] == 0);
    RC_ASSERT(n / 64 % division.splits[1] == 0);
    RC_ASSERT(k / 64 % division.splits[2] == 0);
    std::vector<std::vector<int>> slices = division.slice;
    std::sort(slices.begin(), slices.end());
    RC_ASSERT(std::unique(slices.begin(), slices.end()) == slices.end());
    for (const auto& row : slices) {
      for (size_t i = 0; i < row.size(); ++i) RC_ASSERT(row[i] >= 0 && row[i] < division.splits[i]);
    }
  }));
}

TEST(WorkDivision, ASpanOfExactly256MiBIsLegalAndOneStickMoreIsNot) {
  // [rows, 64] halves: the span is rows * 128 bytes.
  const auto unary = [](int64_t rows) {
    OpIr op;
    op.name = "neg";
    op.loops = {{"r", rows}, {"c", 64}};
    op.inputs = {Tensor("x", {rows, 64}, {64, 1})};
    op.output = Tensor("y", {rows, 64}, {64, 1});
    return op;
  };
  std::vector<std::string> log;
  const OpIr fits = unary(int64_t{2} << 20);
  EXPECT_TRUE(WorkDivider(fits).MustSplit(32, &log).empty());
  const OpIr larger = unary((int64_t{2} << 20) + 2);
  EXPECT_THAT(WorkDivider(larger).MustSplit(32, &log), ElementsAre(std::make_pair(0, 2)));
  EXPECT_TRUE(log.empty());
  const WorkDivision one_core = DivideWork(larger, 1, false);
  EXPECT_EQ(one_core.cores_used, 1);
  ASSERT_EQ(one_core.log.size(), 4u);  // a warning and a critical line for each tensor
  EXPECT_THAT(one_core.log.front(), HasSubstr("WARNING: operation 'neg', tensor 'x'"));
  EXPECT_THAT(one_core.log.back(), HasSubstr("CRITICAL: operation 'neg'"));
}

TEST(WorkDivision, RefusesCoreCountsOutside1To32) {
  for (int cores : {-1, 0, 33}) {
    try {
      DivideWork(Matmul(64, 64, 64), cores, true);
      FAIL() << cores;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.message_kind(), "invalid_sencores");
      EXPECT_THAT(error.what(), HasSubstr("it must be 1..32"));
    }
  }
}

TEST(WorkDivision, RefusesACommittedDimensionThatIsStillListed) {
  EXPECT_THROW(SplitIterationSpace({8, 8}, 32, {0, 1}, {}, {{0, 2}}), CompileError);
  EXPECT_THROW(SplitIterationSpace({8, 8}, 32, {0}, {1}, {{1, 2}}), CompileError);
}

TEST(WorkDivision, OperationsThatNoPassCanComputeAreRefusedByName) {
  const auto refusal = [](const std::function<void(OpIr&)>& change) -> std::string {
    OpIr op = Matmul(64, 64, 64);
    change(op);
    try {
      DivideWork(op, 32, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](OpIr& op) { op.inputs.clear(); }), HasSubstr("'mm': a reduction reads"));
  EXPECT_THAT(refusal([](OpIr& op) { op.loops[1].range = 0; }), HasSubstr("loop n has range 0"));
  EXPECT_THAT(refusal([](OpIr& op) { op.inputs[1].index.coefficient[0] = -1; }),
              HasSubstr("'b': index has constant 0 and coefficient -1 of m"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.index.coefficient.pop_back(); }),
              HasSubstr("'out': index has 2 coefficients for 3 loops"));
  EXPECT_THAT(refusal([](OpIr& op) { op.loops[0].range = INT64_MAX; }),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.layout.device_size[0] = 0; }),
              HasSubstr("device size 0"));
  EXPECT_THAT(refusal([](OpIr& op) { op.output.layout.stride_map.pop_back(); }),
              HasSubstr("3 device sizes and 2 strides"));
}

TEST(OpFromJson, InvalidLinesAreRefusedWithTheKey) {
  const Json good = ReadCases("work_division_cases.jsonl").at(0);
  const auto refusal = [&](const std::function<void(Json&)>& change) -> std::string {
    Json changed = good;
    change(changed);
    try {
      OpFromJson(changed);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](Json& j) { j = 3; }), HasSubstr("key 'kind' is missing"));
  EXPECT_THAT(refusal([](Json& j) { j["kind"] = "scan"; }), HasSubstr("kind 'scan'"));
  EXPECT_THAT(refusal([](Json& j) { j.erase("tensors"); }), HasSubstr("'tensors' is missing"));
  EXPECT_THAT(refusal([](Json& j) { j["loop_vars"] = {1, 2}; }), HasSubstr("key 'loops'"));
  EXPECT_THAT(refusal([](Json& j) { j["loop_vars"][1][0] = "d0"; }), HasSubstr("d0 given twice"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["role"] = "inout"; }), HasSubstr("'inout'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["dtype"] = "f17"; }), HasSubstr("'f17'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["index"] = {{"z", 1}}; }), HasSubstr("'z'"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][2]["role"] = "input"; }),
              HasSubstr("0 tensors have the role output"));
  EXPECT_THAT(refusal([](Json& j) { j["tensors"][0]["host_size"] = "big"; }),
              HasSubstr("key 'host_size'"));
}

}  // namespace
}  // namespace spyre::compiler
