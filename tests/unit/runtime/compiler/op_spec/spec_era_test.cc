// SPDX-License-Identifier: Apache-2.0
// Which fields of OpSpec source go together: those of one version of the front end.
#include "runtime/compiler/op_spec/spec_era.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/op_spec/unroll.h"

namespace spyre::compiler::spec_era_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a source has besides the fields that all have: "" for nothing.
struct Fields {
  std::string loop;       // of the LoopSpec
  std::string first;      // of the first operation of the loop
  std::string second;     // of the second one
  std::string input;      // of the input of the first one
  std::string output;     // of its output
  std::string pool = "";  // the key of the second one's output; "": hbm
};

std::string Arg(bool input, const std::string& place, const std::string& more) {
  return fmt::format(
      "TensorArg(is_input={}, arg_index=0, device_dtype=DataFormats.SEN169_FP16, device_size=[8, "
      "64], device_coordinates=[sympify('c0'), sympify('0')], allocation={{{}}}{}{})",
      input ? "True" : "False", place, more.empty() ? "" : ",\n", more);
}

std::string Op(const std::string& more, const std::string& args) {
  return "OpSpec(op='exp', is_reduction=False, iteration_space={'c0': (2, 1)},\n" + more +
         (more.empty() ? "" : ", ") + "args=[" + args + "])";
}

std::string Source(const Fields& fields) {
  const std::string place = fields.pool.empty() ? "'hbm': 0" : "'" + fields.pool + "': 0";
  return "[LoopSpec(count=4,\n" + fields.loop + (fields.loop.empty() ? "" : ", ") + "body=[" +
         Op(fields.first,
            Arg(true, "'hbm': 0", fields.input) + ", " + Arg(false, "'hbm': 0", fields.output)) +
         ",\n" + Op(fields.second, Arg(true, "'hbm': 0", "") + ", " + Arg(false, place, "")) +
         "])]";
}

std::string Refusal(const std::string& text) {
  try {
    ParseOpSpecSource(text, "k.py");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

const OpSpec& FirstOp(const KernelSource& kernel) {
  return std::get<OpSpec>(std::get<LoopSpec>(kernel.body.at(0)).body.at(0));
}

const char* const kFlat = "tiled_symbols=['c0']";
const char* const kLevels = "tiled_symbols=[['c0']]";
const char* const kStrides = "stride_map=[64, 1]";
const char* const kAdvance = "device_tile_advance_expr=sympify('128*c0')";
const char* const kFixed = "per_tile_fixed=True";

TEST(OpSpecEra, FieldsThatNoVersionWroteTogetherAreNamedWithTheirPlaces) {
  EXPECT_THAT(Refusal(Source({"", kFlat, kLevels, "", "", ""})),
              AllOf(HasSubstr("tiled_symbols as one flat list (at k.py:3:1) is of older sources"),
                    HasSubstr("tiled_symbols with a list for each loop (at k.py:5:1) of newer"),
                    HasSubstr("k.py:5:1: "), HasSubstr("has the fields of one version")));
  EXPECT_THAT(Refusal(Source({"", kLevels, kFlat, "", "", ""})),
              AllOf(HasSubstr("one flat list (at k.py:5:1)"), HasSubstr("loop (at k.py:3:1)")));
  EXPECT_THAT(Refusal(Source({kFlat, kLevels, kLevels, "", "", ""})),
              HasSubstr("tiled_symbols as one flat list (at k.py:2:1)"));
  EXPECT_THAT(Refusal(Source({"", kFlat, kFlat, kStrides, kAdvance, ""})),
              HasSubstr("device_tile_advance_expr (at k.py:5:1) of newer"));
  EXPECT_THAT(Refusal(Source({"", kLevels, "", kStrides, "", ""})),
              HasSubstr("stride_map (at k.py:4:1) is of older"));
  // A pool by both names, in two operations.
  const std::string source = "[" + Op("", Arg(false, "'pool': 0", "")) + ",\n" +
                             Op("", Arg(false, "'hbm_pool': 128", "")) + "]";
  EXPECT_THAT(Refusal(source),
              AllOf(HasSubstr("'pool' (at k.py:2:"), HasSubstr("'hbm_pool' (at k.py:4:")));
}

// The public front end had per_tile_fixed still when tiled_symbols was a list for each loop, and
// also beside device_tile_advance_expr: docs/kernel-forms.md.
TEST(OpSpecEra, WhatTheFrontEndWroteBetweenTheErasMeansTheSame) {
  const auto steps = [](const KernelSource& kernel) {
    const OpSpec& op = FirstOp(kernel);
    return std::vector<int64_t>{LoopStrideBytes(op, op.args[0], 1).at(0),
                                LoopStrideBytes(op, op.args[1], 1).at(0)};
  };
  const Fields of_eras[] = {
      {kFlat, kFlat, kFlat, kStrides, kFixed, "pool"},
      {"", kLevels, kLevels, "", kFixed, "pool"},
      {"", kLevels, kLevels, "", kFixed, "hbm_pool"},
      {"", kLevels, kLevels, kAdvance, kFixed, "hbm_pool"},
  };
  for (const Fields& fields : of_eras) {
    const KernelSource kernel = ParseOpSpecSource(Source(fields), "k.py");
    // Two rows of 128 bytes for each tile; the output stays.
    EXPECT_THAT(steps(kernel), ElementsAre(256, 0)) << Source(fields);
    const std::string text = ToSource(kernel);
    const KernelSource again = ParseOpSpecSource(text, "again");
    EXPECT_EQ(steps(again), steps(kernel)) << text;
    EXPECT_EQ(ToSource(again), text);
  }
}

TEST(OpSpecEra, WhatIsFixedHasNoAdvance) {
  const std::string both = std::string(kFixed) + ", " + kAdvance;
  EXPECT_THAT(Refusal(Source({"", kLevels, kLevels, both, "", ""})),
              AllOf(HasSubstr("k.py:4:47: "), HasSubstr("an advance of what is per_tile_fixed")));
  const std::string nowhere = std::string(kFixed) + ", device_tile_advance_expr=sympify('0')";
  EXPECT_EQ(Refusal(Source({"", kLevels, kLevels, nowhere, "", ""})), "");
}

// All choices of fields: refused are just those of both eras.
TEST(OpSpecEra, EveryMixIsRefusedAndNothingElse) {
  int refused = 0;
  for (const std::string& loop : std::vector<std::string>{"", kFlat}) {
    for (const std::string& first : std::vector<std::string>{"", kFlat, kLevels}) {
      for (const std::string& second : std::vector<std::string>{"", kFlat, kLevels}) {
        for (const std::string& input : std::vector<std::string>{"", kStrides, kFixed, kAdvance}) {
          for (const std::string& output :
               std::vector<std::string>{"", kStrides, kFixed, kAdvance}) {
            const auto some = [&](const std::string& field) {
              return loop == field || first == field || second == field || input == field ||
                     output == field;
            };
            // An advance is over symbols that the operation or its loops name.
            const bool named = !first.empty() || (second.empty() && !loop.empty());
            if (some(kAdvance) && !named) continue;
            const bool mixed = (some(kFlat) || some(kStrides)) && (some(kLevels) || some(kAdvance));
            const std::string refusal = Refusal(Source({loop, first, second, input, output, ""}));
            EXPECT_EQ(!refusal.empty(), mixed) << loop << first << second << input << output;
            if (mixed) {
              ++refused;
              EXPECT_THAT(refusal, HasSubstr("of one version"));
            }
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace spyre::compiler::spec_era_test
