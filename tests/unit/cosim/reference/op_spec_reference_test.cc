// SPDX-License-Identifier: Apache-2.0
// OpSpec sources worked out in float64, against numbers found by hand.
#include "cosim/reference/op_spec_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/op_spec_functions.h"
#include "runtime/compiler/ops/op_funcs.h"
#include "tests/unit/runtime/compiler/op_func_values.h"

namespace spyre::cosim::op_spec_reference_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An argument of `rows` sticks of SEN169_FP16 whose element (row, lane) is value(row, lane).
template <class Value>
std::vector<uint8_t> Sticks(int rows, Value value) {
  std::vector<uint8_t> image(static_cast<size_t>(rows) * 128);
  for (int row = 0; row < rows; ++row) {
    for (int lane = 0; lane < 64; ++lane) {
      StoreBits(DeviceBits(DataFormat::kSen169Fp16, value(row, lane)),
                &image[static_cast<size_t>(row * 128 + lane * 2)], 2);
    }
  }
  return image;
}

std::string Arg(bool is_input, int index, const std::string& size, const std::string& coordinates,
                const std::string& allocation, const std::string& more = "",
                const std::string& format = "SEN169_FP16") {
  std::string list;
  for (size_t begin = 0; begin < coordinates.size();) {
    const size_t end = std::min(coordinates.find(';', begin), coordinates.size());
    list += "sympify('" + coordinates.substr(begin, end - begin) + "'), ";
    begin = end + 1;
  }
  return fmt::format(
      "TensorArg(is_input={}, arg_index={}, device_dtype=DataFormats.{}, device_size=[{}], "
      "device_coordinates=[{}], allocation={{{}}}{}),",
      is_input ? "True" : "False", index, format, size, list, allocation, more);
}

std::string Op(const std::string& name, const std::string& space, const std::string& args,
               const std::string& more = "") {
  std::string pairs;
  for (size_t begin = 0; begin < space.size();) {  // "c0=4 c1=64"
    const size_t end = std::min(space.find(' ', begin), space.size());
    const std::string pair = space.substr(begin, end - begin);
    pairs += fmt::format("sympify('{}'): (sympify('{}'), 1), ", pair.substr(0, pair.find('=')),
                         pair.substr(pair.find('=') + 1));
    begin = end + 1;
  }
  return fmt::format("OpSpec(op='{}', is_reduction=False, iteration_space={{{}}}{}, args=[{}]),",
                     name, pairs, more, args);
}

class Source {
 public:
  Source(const std::string& text, ArgumentImages images)
      : source_(compiler::ParseOpSpecSource("[" + text + "]", "test")),
        images_(std::move(images)),
        reference_(source_, images_, Rounding::kNone) {}
  double At(int argument, int stick, int lane) {
    return reference_.Value(argument, stick * 128 + lane * 2, DataFormat::kSen169Fp16, 2);
  }
  bool read_unwritten() const { return reference_.read_unwritten(); }

 private:
  compiler::KernelSource source_;
  ArgumentImages images_;
  OpSpecReference reference_;
};

const char* const kRows = "c0;Mod(c1, 64)";

TEST(OpSpecReference, ElementsAreWhereTheCoordinatesSay) {
  // The second input is turned round: lane c1 of row c0 is added to lane c0 of row c1.
  Source source(
      Op("add", "c0=2 c1=3",
         Arg(true, 0, "4, 64", "c0;c1", "'hbm': 0") + Arg(true, 1, "4, 64", "c1;c0", "'hbm': 1") +
             Arg(false, 2, "4, 64", "c0 + 1;c1", "'hbm': 2")),
      {{0, Sticks(4, [](int row, int lane) { return 10 * row + lane; })},
       {1, Sticks(4, [](int row, int lane) { return 100 * row + lane; })}});
  EXPECT_EQ(source.At(2, 1, 0), 0 + 0);
  EXPECT_EQ(source.At(2, 1, 2), 2 + 200);
  EXPECT_EQ(source.At(2, 2, 1), 11 + 101);
  EXPECT_TRUE(std::isnan(source.At(2, 0, 0))) << "no operation writes it";
  EXPECT_FALSE(source.read_unwritten());
}

TEST(OpSpecReference, LoopsAdvanceByWholeTilesOfTheirSymbols) {
  const std::string loop = "LoopSpec(count=sympify('2'), body=[";
  const ArgumentImages in = {{0, Sticks(4, [](int row, int lane) { return 8 * row + lane; })}};
  Source tiles(
      loop +
          Op("neg", "c0=2 c1=64",
             Arg(true, 0, "4, 64", kRows, "'hbm': 0") + Arg(false, 1, "4, 64", kRows, "'hbm': 1"),
             ", tiled_symbols=[[sympify('c0')]]") +
          "])",
      in);
  EXPECT_EQ(tiles.At(1, 3, 5), -29);
  // The newest form: the output goes two sticks on, the input one.
  const std::string space = ", tiled_symbols=[[sympify('t0')]]";
  Source advance(loop +
                     Op("neg", "c0=1 c1=64",
                        Arg(true, 0, "4, 64", kRows, "'hbm': 0",
                            ", device_tile_advance_expr=sympify('64*t0')") +
                            Arg(false, 1, "4, 64", kRows, "'hbm': 1",
                                ", device_tile_advance_expr=sympify('128*t0')"),
                        space) +
                     "])",
                 in);
  EXPECT_EQ(advance.At(1, 0, 5), -5);
  EXPECT_EQ(advance.At(1, 2, 5), -13);
  EXPECT_TRUE(std::isnan(advance.At(1, 1, 5)));
}

TEST(OpSpecReference, ResultsInLxAndInThePoolAreReadAgain) {
  const std::string write = "c0=2 c1=64";
  Source source(
      Op("mul", write,
         Arg(true, 0, "2, 64", kRows, "'hbm': 0") + Arg(true, 0, "2, 64", kRows, "'hbm': 0") +
             Arg(false, -1, "2, 64", kRows, "'lx': 256")) +
          Op("neg", write,
             Arg(true, -1, "2, 64", kRows, "'lx': 256") +
                 Arg(false, -1, "2, 64", kRows, "'pool': 512")) +
          Op("identity", write,
             Arg(true, -1, "2, 64", kRows, "'pool': 512") +
                 Arg(false, 1, "2, 64", kRows, "'hbm': 1")) +
          Op("identity", "",
             Arg(true, -1, "2, 64", "0;0", "'lx': 1024") +
                 Arg(false, 2, "2, 64", "0;0", "'hbm': 2")),
      {{0, Sticks(2, [](int row, int lane) { return row + lane; })}});
  EXPECT_EQ(source.At(1, 1, 3), -16);
  EXPECT_TRUE(source.read_unwritten()) << "the last operation reads what nobody wrote";
}

TEST(OpSpecReference, ReductionsFoldWhatTheOutputLacks) {
  const std::string in = Arg(true, 0, "2, 64", kRows, "'hbm': 0");
  const std::string out = Arg(false, 1, "2, 64", "c0;0", "'hbm': 1");
  const ArgumentImages x = {{0, Sticks(2, [](int row, int lane) { return row - lane; })}};
  EXPECT_EQ(Source(Op("sum", "c0=2 c1=4", in + out), x).At(1, 1, 0), 1 + 0 - 1 - 2);
  EXPECT_EQ(Source(Op("max", "c0=2 c1=4", in + out), x).At(1, 1, 0), 1);
  EXPECT_EQ(Source(Op("min", "c0=2 c1=4", in + out), x).At(1, 1, 0), -2);
  EXPECT_EQ(Source(Op("absmax", "c0=2 c1=4", in + out), x).At(1, 0, 0), 3);
  EXPECT_EQ(Source(Op("prod", "c0=2 c1=3", in + out), x).At(1, 1, 0), 0);
  EXPECT_EQ(Source(Op("mean", "c0=2 c1=4", in + out, ", op_info={'scaling_factor': 0.25}"), x)
                .At(1, 0, 0),
            -1.5);
  // Over rows.
  const std::string lanes = Arg(false, 1, "1, 64", "0;c1", "'hbm': 1");
  EXPECT_EQ(Source(Op("sumnonstick", "c0=2 c1=4", in + lanes), x).At(1, 0, 3), -3 - 2);
}

TEST(OpSpecReference, LayerNormalisationInItsThreePieces) {
  const std::string x = Arg(true, 0, "1, 64", "0;c1", "'hbm': 0");
  const auto pair = [](bool is_input) { return Arg(is_input, -1, "1, 64", "0;0", "'lx': 0"); };
  const auto scale = [](bool is_input) { return Arg(is_input, -1, "1, 64", "0;0", "'lx': 128"); };
  Source source(Op("exx2", "c1=4", x + pair(false), ", op_info={'exx2scale': 0.25}") +
                    Op("layernormscale", "", pair(true) + scale(false), ", op_info={'eps': 0}") +
                    Op("layernormnorm", "c1=4",
                       x + pair(true) + scale(true) + Arg(false, 1, "1, 64", "0;c1", "'hbm': 1")),
                {{0, Sticks(1, [](int, int lane) { return lane == 3 ? 6 : lane + 1; })}});
  for (const auto& [lane, value] : std::vector<std::pair<int, double>>{{0, 1}, {1, 2}, {3, 6}})
    EXPECT_NEAR(source.At(1, 0, lane), (value - 3) / std::sqrt(3.5), 1e-12);
}

TEST(OpSpecReference, AProductContractsWhatItsResultLacks) {
  Source source(
      Op("batchmatmul", "c0=2 c1=2 c2=3",
         Arg(true, 0, "2, 64", "c0;c2", "'hbm': 0") + Arg(true, 1, "3, 64", "c2;c1", "'hbm': 1") +
             Arg(false, 2, "2, 64", "c0;c1", "'hbm': 2")),
      {{0, Sticks(2, [](int row, int k) { return 1 + row + k; })},
       {1, Sticks(3, [](int k, int column) { return k == 0 ? 5 : k * column; })}});
  // Row 1 is (2, 3, 4), column 1 is (5, 1, 2).
  EXPECT_EQ(source.At(2, 1, 1), 10 + 3 + 8);
  EXPECT_EQ(source.At(2, 0, 0), 5);
}

// docs/facts.md: 4 elements of each fp32 stick alternate.
TEST(OpSpecReference, ConversionsTakeTurnsBetweenTwoSticks) {
  Source source(Op("fp32todl16", "c0=64",
                   Arg(true, 0, "2, 32", "floor(c0/32);Mod(c0, 32)", "'hbm': 0", "", "IEEE_FP32") +
                       Arg(false, 1, "1, 64", "floor(c0/64);Mod(c0, 64)", "'hbm': 1")),
                {{0, [] {
                    std::vector<uint8_t> image(256);
                    for (int i = 0; i < 64; ++i)
                      StoreBits(DeviceBits(DataFormat::kIeeeFp32, i),
                                &image[static_cast<size_t>(4 * i)], 4);
                    return image;
                  }()}});
  std::vector<double> first;
  for (int lane = 0; lane < 10; ++lane) first.push_back(source.At(1, 0, lane));
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 3, 32, 33, 34, 35, 4, 5));
}

TEST(OpSpecReference, WhatItCannotWorkOutIsRefusedWithTheOperation) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      Source(text, {{0, Sticks(1, [](int, int) { return 0; })}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string in = Arg(true, 0, "1, 64", "0;c1", "'hbm': 0");
  const std::string out = Arg(false, 1, "1, 64", "0;c1", "'hbm': 1");
  EXPECT_THAT(refusal("UnimplementedOp(op='sort'),"), HasSubstr("'sort' is an UnimplementedOp"));
  EXPECT_THAT(refusal(Op("fnms", "c1=64", in + out)), HasSubstr("'fnms' has no float64"));
  EXPECT_THAT(refusal(Op("add", "c1=64", in + out)), HasSubstr("1 inputs; 2 to 2"));
  EXPECT_THAT(refusal(Op("clip", "c1=64", in + out)), HasSubstr("'clipMin' is missing"));
}

// Windows and ranks come in bundles alone: tests/integration/window_bundles_test.cc and
// tests/unit/cosim/reference/bundle_reference_test.cc have their meaning.
bool IsOfBundlesOnly(std::string_view op) {
  return op == "topkvalue" || op == "topkindex" || op == "conv2d" ||
         op == "depthwiseconv2dnative" || op == "avgpoolfwd" || op == "maxpoolfwd";
}

// Two tables on purpose; what one has, the other must have.
TEST(OpMeanings, CoverEveryOpFuncThatCanBeExecuted) {
  for (const compiler::OpFunc& op : compiler::OpFuncs()) {
    if (IsOfBundlesOnly(op.name)) continue;
    const OpMeaning* meaning = FindOpMeaning(std::string(op.name));
    ASSERT_EQ(meaning != nullptr, op.refusal.empty()) << op.name;
    if (meaning == nullptr) continue;
    EXPECT_EQ(meaning->least_inputs, static_cast<size_t>(op.min_inputs)) << op.name;
    EXPECT_EQ(meaning->most_inputs, static_cast<size_t>(op.inputs)) << op.name;
    for (const compiler::OpFuncConstant& constant : op.constants) {
      const auto known =
          FindIf(meaning->constants, [&](const auto& c) { return c.name == constant.name; });
      ASSERT_NE(known, meaning->constants.end()) << op.name << " " << constant.name;
      EXPECT_EQ(known->required, !constant.fallback.has_value()) << op.name << " " << constant.name;
      EXPECT_EQ(known->value, constant.fallback.value_or(0)) << op.name;
    }
  }
}

// An entry whose instructions compute something else than its operation means is noticed here.
TEST(OpMeanings, AreWhatTheInstructionsOfTheEntriesCompute) {
  constexpr double kValues[] = {-7, -2.5, -1, -0.5, 0, 0.25, 1, 1.75, 3, 24};
  constexpr size_t kCount = std::size(kValues);
  const auto exact = [](double value) { return value; };
  for (const compiler::OpFunc& op : compiler::OpFuncs()) {
    if (op.op_class != compiler::OpFuncClass::kPointwise) continue;
    const OpMeaning& meaning = *FindOpMeaning(std::string(op.name));
    std::map<std::string_view, double> given;
    std::vector<double> constants;
    for (const compiler::OpFuncConstant& constant : op.constants) {
      constants.push_back(constant.fallback.value_or(0.5 + static_cast<double>(constants.size())));
      given[constant.name] = constants.back();
    }
    for (size_t at = 0; at < kCount * kCount; ++at) {
      std::vector<double> inputs;
      for (int i = 0; i < op.inputs; ++i)
        inputs.push_back(kValues[(i == 0 ? at / kCount : at + static_cast<size_t>(i)) % kCount]);
      const double steps = compiler::harness::StepsValue(op, inputs, given);
      const double real = meaning.elements(inputs, constants, exact);
      if (std::isfinite(real))
        EXPECT_NEAR(steps, real, 1e-6 * std::fabs(real)) << op.name << " of " << inputs[0];
      else
        EXPECT_FALSE(std::isfinite(steps)) << op.name << " of " << inputs[0];
    }
  }
}

}  // namespace
}  // namespace spyre::cosim::op_spec_reference_test
