// SPDX-License-Identifier: Apache-2.0
// OpSpec source: the sample bundles' sources, the forms of every era, and what is refused where.
#include "runtime/compiler/op_spec/op_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "tests/paths.h"

namespace spyre::compiler::op_spec_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char kBundles[] = SPYRE_SOURCE_DIR "/tests/data/bundles";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

KernelSource Read(const std::string& dialect, const std::string& scenario) {
  const auto path = std::filesystem::path(kBundles) / dialect / scenario / "op_spec.py.txt";
  return ParseOpSpecSource(ReadText(path), path.string());
}

std::string Refusal(const std::string& text, const std::string& kernel = "") {
  try {
    ParseOpSpecSource(text, "k.py", kernel);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "not refused: " << text;
  return "";
}

// One operation whose parts can be replaced.
std::string Source(const std::string& op = "op='exp', is_reduction=False",
                   const std::string& space = "{sympify('c0'): (sympify('64'), 4)}",
                   const std::string& more = "", const std::string& allocation = "{'hbm': 0}",
                   const std::string& last = "") {
  const std::string arg =
      ", device_dtype=DataFormats.SEN169_FP16, device_size=[1, 64],"
      " device_coordinates=[sympify('0'), sympify('c0')], allocation=";
  return "[OpSpec(" + op + ", iteration_space=" + space + ", " + more +
         "args=[TensorArg(is_input=True, arg_index=0" + arg + allocation +
         "),\nTensorArg(is_input=False, arg_index=1" + arg + "{'lx': 128}" + last + ")])]";
}

const OpSpec& Op(const KernelSource& kernel, size_t i = 0) {
  return std::get<OpSpec>(kernel.body.at(i));
}

double Constant(const OpSpec& op, const std::string& name) {
  for (const OpConstant& constant : op.constants) {
    if (constant.name == name) return constant.value;
  }
  ADD_FAILURE() << "no constant " << name;
  return 0;
}

TEST(OpSpecSource, SoftmaxOfTheSamplesIsReadAsItStands) {
  const KernelSource kernel = Read("symbolic_constants", "softmax_lx_32x256/flat");
  ASSERT_EQ(kernel.body.size(), 5u);
  EXPECT_EQ(kernel.name, "");
  const OpSpec& max = Op(kernel, 0);
  EXPECT_EQ(max.op, "max");
  EXPECT_TRUE(max.is_reduction);
  ASSERT_EQ(max.iteration_space.size(), 2u);
  EXPECT_EQ(max.iteration_space[0].name, "c0");
  EXPECT_EQ(max.iteration_space[0].range, 32);
  EXPECT_EQ(max.iteration_space[0].split, 4);
  ASSERT_EQ(max.args.size(), 2u);
  EXPECT_EQ(max.args[0].memory, Memory::kHbm);
  EXPECT_THAT(max.args[0].device_size, ElementsAre(4, 32, 64));
  EXPECT_EQ(ToString(max.args[0].device_coordinates[0]), "floor(c1/64)");
  EXPECT_EQ(max.args[1].memory, Memory::kLx);
  EXPECT_TRUE(max.args[1].per_tile_fixed);
  EXPECT_EQ(Op(kernel, 1).args[2].address, 9216);
  EXPECT_EQ(Op(kernel, 4).args[2].address, 17179869184);
  EXPECT_EQ(Op(kernel, 4).args[2].arg_index, 1);
}

TEST(OpSpecSource, TiledSymbolsOfBothErasMeanTheSameLoops) {
  const auto inner_op = [](const KernelSource& kernel) {
    const auto& outer = std::get<LoopSpec>(kernel.body.at(0));
    EXPECT_EQ(std::get<int64_t>(outer.count), 2);
    const auto& inner = std::get<LoopSpec>(outer.body.at(0));
    EXPECT_EQ(std::get<int64_t>(inner.count), 4);
    EXPECT_EQ(inner.body.size(), 2u);
    return std::get<OpSpec>(inner.body.at(0));
  };
  const OpSpec seed = inner_op(Read("symbolic_constants", "loop_chain_seed_1024x4096_k2_m4/loops"));
  EXPECT_THAT(seed.tiled_symbols, ElementsAre(ElementsAre("c0"), ElementsAre("c1")));
  EXPECT_THAT(seed.args[0].stride_map, ElementsAre(64, 4096, 1));
  EXPECT_FALSE(seed.args[0].tile_advance.has_value());
  const OpSpec newest = inner_op(Read("symbolic_args", "loop_chain_seed_1024x4096_k2_m4/loops"));
  EXPECT_THAT(newest.tiled_symbols, ElementsAre(ElementsAre("t0"), ElementsAre("t1")));
  ASSERT_TRUE(newest.args[0].tile_advance.has_value());
  EXPECT_EQ(Evaluate(*newest.args[0].tile_advance, {{"t0", 1}, {"t1", 0}}), 32768);
}

TEST(OpSpecSource, EverySampleReadsBackFromItsOwnText) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kBundles)) {
    if (entry.path().filename() != "op_spec.py.txt") continue;
    ++files;
    KernelSource kernel = ParseOpSpecSource(ReadText(entry.path()), entry.path().string());
    kernel.name = "sdsc_it's_0";
    const std::string text = ToSource(kernel);
    const KernelSource again = ParseOpSpecSource(text, "again");
    EXPECT_EQ(again.name, kernel.name);
    EXPECT_EQ(ToSource(again), text) << entry.path();
    EXPECT_EQ(again.body.size(), kernel.body.size());
  }
  EXPECT_EQ(files, 18);
}

TEST(OpSpecSource, KeysOfTheNewestFrontEndAreRead) {
  const std::string text = R"(
from torch_spyre import OpSpec  # a wrapper module around the call
k_0 = async_compile.sdsc("k_0",
    [
        UnimplementedOp(op='aten.sort'),
        LoopSpec(count=sympify('s0'), body=[
            OpSpec(
                op='exx2', is_reduction=True,
                iteration_space={sympify('c0'): (sympify('2048'), 32), sympify('c1'): (sympify('768'), 1)},
                op_info={'constants': {'exx2scale': 0.0013020833333333333, 'useZeroMean': False}},
                tiled_symbols=[[sympify('t')]],
                tiled_symbol_trip_counts={sympify('t'): 2},
                core_id_to_work_slice={sympify('c0'): sympify('Mod(core_id, 32)'), sympify('c1'): sympify('0')},
                symbolic_dim_bounds={'s0': (512, 64)},
                node_output_ranges=(sympify('1'), ),
                debug_handle=DebugHandle(id=11873148202916758490, source=SourceLoc(file='/a.py', start_line=1, end_col=None), fused_from=(), ir_chain=('a', "b'\x41\n")),
                args=[
                    TensorArg(
                        is_input=True, arg_index=0, device_dtype=DataFormats.SEN169_FP16,
                        device_size=[12, 2048, 64],
                        device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), sympify('Mod(c1, 64)')],
                        allocation={'hbm_pool': {'offset': 4096}}, name='arg0',
                        device_tile_advance_expr=sympify('64*t'),
                        element_arrangement=ElementArrangement.EXX2,
                    ),
                    TensorArg(
                        is_input=False, arg_index=-1, device_dtype=DataFormats.SEN169_FP16,
                        device_size=[1, 2048, 64],
                        device_coordinates=[sympify('0'), sympify('c0'), sympify('0')],
                        allocation={'lx': 0},
                        device_tile_advance_expr=None,
                        work_division=TensorWorkDivision(work_slices={sympify('c0'): 32}, core_id_to_work_slice={sympify('c0'): sympify('Mod(core_id, 32)')}),
                    ),
                ]
            ),
        ]),
    ]
)
async_compile.wait(globals())
)";
  const KernelSource kernel = ParseOpSpecSource(text, "k.py");
  EXPECT_EQ(kernel.name, "k_0");
  ASSERT_EQ(kernel.body.size(), 2u);
  EXPECT_EQ(std::get<UnimplementedOp>(kernel.body[0]).op, "aten.sort");
  const auto& loop = std::get<LoopSpec>(kernel.body[1]);
  EXPECT_EQ(std::get<std::string>(loop.count), "s0");
  const auto& op = std::get<OpSpec>(loop.body[0]);
  EXPECT_DOUBLE_EQ(Constant(op, "exx2scale"), 1.0 / 768);
  EXPECT_EQ(Constant(op, "useZeroMean"), 0);
  EXPECT_EQ(op.args[0].memory, Memory::kPool);
  EXPECT_EQ(op.args[0].address, 4096);
  ASSERT_EQ(op.core_slices.size(), 2u);
  EXPECT_EQ(Evaluate(op.core_slices[0], {{"core_id", 33}}), 1);
  EXPECT_EQ(ToSource(ParseOpSpecSource(ToSource(kernel), "again")), ToSource(kernel));
}

TEST(OpSpecSource, SmallDifferencesOfFormDoNotMatter) {
  EXPECT_EQ(Op(ParseOpSpecSource(Source(), "k")).op, "exp");
  EXPECT_EQ(Op(ParseOpSpecSource(Source("op=\"exp\",is_reduction=True"), "k")).is_reduction, true);
  const std::string plain = Source("op='exp', is_reduction=False", "{'c0': (64, 4,),}");
  EXPECT_EQ(Op(ParseOpSpecSource(plain, "k")).iteration_space[0].range, 64);
  const std::string info =
      "op_info={'constants': {'a': float('-inf'), 'b': 1e-05}, 'c': -inf, 'd': 3}, ";
  const OpSpec op =
      Op(ParseOpSpecSource(Source("op='exp', is_reduction=False", "{'c0': (64, 4)}", info), "k"));
  EXPECT_EQ(Constant(op, "a"), -INFINITY);
  EXPECT_EQ(Constant(op, "b"), 1e-05);
  EXPECT_EQ(Constant(op, "c"), -INFINITY);
  EXPECT_EQ(Constant(op, "d"), 3);
  const std::string list = Source();
  EXPECT_EQ(ParseOpSpecSource(list.substr(1, list.size() - 2), "k").body.size(), 1u);
}

using Levels = std::vector<std::vector<std::string>>;

// Of the one operation in two loops; `tiled`, `outer` and `inner`: what it and they say.
std::string InTwoLoops(const std::string& tiled, const std::string& outer,
                       const std::string& inner) {
  const auto key = [](const std::string& list) {
    return list.empty() ? "" : "tiled_symbols=" + list + ", ";
  };
  const std::string op =
      Source("op='exp', is_reduction=False", "{'c0': (64, 4), 'c1': (64, 1)}", key(tiled));
  return "LoopSpec(" + key(outer) + "count=2, body=[LoopSpec(" + key(inner) +
         "count=3, body=" + op + ")])";
}

Levels LevelsOf(const std::string& source) {
  const KernelSource kernel = ParseOpSpecSource(source, "k");
  const auto& loop = std::get<LoopSpec>(kernel.body[0]);
  return std::get<OpSpec>(std::get<LoopSpec>(loop.body[0]).body[0]).tiled_symbols;
}

TEST(OpSpecSource, OneFlatListOfSymbolsGoesToTheLoopsThatNameThem) {
  EXPECT_EQ(LevelsOf(InTwoLoops("['c0']", "", "['c0']")), (Levels{{}, {"c0"}}));
  EXPECT_EQ(LevelsOf(InTwoLoops("['c0']", "['c0']", "")), (Levels{{"c0"}, {}}));
  EXPECT_EQ(LevelsOf(InTwoLoops("['c0']", "['c0']", "['c1']")), (Levels{{"c0"}, {}}));
  EXPECT_EQ(LevelsOf(InTwoLoops("['c0', 'c1']", "['c0', 'c1']", "")), (Levels{{"c0", "c1"}, {}}));
  for (const std::string names : {"", "['c0']"}) {
    EXPECT_THAT(Refusal(InTwoLoops("['c0']", names, names)),
                HasSubstr("which of the 2 loops around advances 'c0'?"));
  }
}

TEST(OpSpecSource, OneNameForEachLoopIsThatWhateverOtherOperationsCallTheirs) {
  EXPECT_EQ(LevelsOf(InTwoLoops("['c1', 'c0']", "['c0']", "['c1']")), (Levels{{"c1"}, {"c0"}}));
  EXPECT_EQ(LevelsOf(InTwoLoops("['c1', 'c0']", "", "")), (Levels{{"c1"}, {"c0"}}));
}

TEST(OpSpecSource, LoopsSpeakForTheirOperationsOnlyWhereNoneOfTheseSaysAnything) {
  EXPECT_EQ(LevelsOf(InTwoLoops("", "['c1', 'c7']", "['c0']")), (Levels{{"c1"}, {"c0"}}));
  EXPECT_EQ(LevelsOf(InTwoLoops("[]", "['c1']", "['c0']")), (Levels{}));
}

TEST(OpSpecSource, OneOfSeveralKernelsIsChosenByItsName) {
  const auto call = [](const std::string& name, const std::string& op) {
    return name + " = async_compile.sdsc('" + name + "',\n" +
           Source("op='" + op + "', is_reduction=False") + ")\n";
  };
  const std::string module = "import torch\n# async_compile.sdsc('old', [])\n" +
                             call("sdsc_fused_exp_0", "exp") + "async_compile.wait(globals())\n" +
                             call("sdsc_fused_neg_1", "neg");
  const KernelSource neg = ParseOpSpecSource(module, "k.py", "sdsc_fused_neg_1");
  EXPECT_EQ(neg.name, "sdsc_fused_neg_1");
  EXPECT_EQ(Op(neg).op, "neg");
  EXPECT_EQ(Op(ParseOpSpecSource(module, "k.py", "sdsc_fused_exp_0")).op, "exp");

  EXPECT_THAT(Refusal(module), HasSubstr("k.py:7:20: the file holds 2 kernels (sdsc_fused_exp_0, "
                                         "sdsc_fused_neg_1); --kernel NAME says which"));
  EXPECT_THAT(Refusal(module, "sdsc_fused_neg_0"),
              HasSubstr("it has no kernel 'sdsc_fused_neg_0', only sdsc_fused_exp_0, "
                        "sdsc_fused_neg_1; did you mean 'sdsc_fused_neg_1'?"));
  EXPECT_THAT(Refusal(call("k", "exp") + call("k", "neg"), "k"), HasSubstr("kernel 'k' again"));
  EXPECT_THAT(Refusal(Source(), "k"), HasSubstr("a bare list of operations has no kernel 'k'"));
}

TEST(OpSpecSource, ErrorsNameFileLineColumnAndTheNearestWord) {
  EXPECT_THAT(Refusal("[\n  OpSpek(op='add'),\n]"),
              HasSubstr("k.py:2:3: a call of OpSpek where an OpSpec, LoopSpec or UnimplementedOp "
                        "should be; did you mean 'OpSpec'?"));
  EXPECT_THAT(Refusal(Source("op='exp', is_reductoin=False")),
              HasSubstr("k.py:1:19: OpSpec has no keyword 'is_reductoin'"));
  EXPECT_THAT(Refusal(Source("op='exp', is_reductoin=False")),
              HasSubstr("did you mean 'is_reduction'?"));
  EXPECT_THAT(Refusal("[\n\n"), HasSubstr("k.py:3:1: the end where a value"));
  EXPECT_THAT(Refusal("[OpSpec(op='add)]"), HasSubstr("k.py:1:12: the string that begins here"));
  EXPECT_THAT(Refusal("[OpSpec(op='add', op='sub')]"), HasSubstr("keyword 'op' is given twice"));
  EXPECT_THAT(Refusal("[UnimplementedOp()]"), HasSubstr("UnimplementedOp needs op="));
  EXPECT_THAT(Refusal("[UnimplementedOp('x')]"), HasSubstr("keyword arguments only"));
  EXPECT_THAT(Refusal("[] []"), HasSubstr("k.py:1:4: something behind the list"));
  EXPECT_THAT(Refusal("[OpSpec(op=3 4)]"), HasSubstr("k.py:1:14: '4)]' where ',' or ')'"));
  EXPECT_THAT(Refusal("[LoopSpec(count=sympify('4+'), body=[])]"), HasSubstr("k.py:1:25: count"));
  EXPECT_THAT(Refusal("[LoopSpec(count=0, body=[])]"), HasSubstr("count: 0 must be at least 1"));
  EXPECT_THAT(Refusal(Source("op='exp', is_reduction=0")), HasSubstr("0 where True or False"));
  EXPECT_THAT(Refusal("a = async_compile.sdsc('a', [])\nb = async_compile.sdsc('b', [])"),
              HasSubstr("k.py:2:5: the file holds 2 kernels (a, b)"));
}

TEST(OpSpecSource, ValuesThatCannotBeAreRefused) {
  const std::string exp = "op='exp', is_reduction=False";
  EXPECT_THAT(Refusal(Source(exp, "{'c1': (64, 4)}")), HasSubstr("'c0' is not in iteration_space"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (0, 4)}")), HasSubstr("range: 0 must be at least 1"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 0)}")), HasSubstr("split: 0 must be at least 1"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (sympify('s0'), 4)}")), HasSubstr("'s0' is symbolic"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (4, 1), 'c0': (4, 1)}")), HasSubstr("given twice"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': 64}")), HasSubstr("64 where (range, split) should be"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "tiled_symbols=[['t']], ")),
              HasSubstr("1 levels in 0 loops"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "", "{'hbn': 0}")),
              HasSubstr("did you mean 'hbm'?"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "", "{}")), HasSubstr("one of hbm, pool"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "", "{'hbm': -1}")),
              HasSubstr("-1 must be at least 0"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "", "{'hbm': 0}",
                             ", device_tile_advance_expr=sympify('64*t')")),
              HasSubstr("'t' is not in tiled_symbols"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "", "{'hbm': 0}",
                             ", work_division=TensorWorkDivision(work_slices={'c0': 2})")),
              HasSubstr("not supported"));
  EXPECT_THAT(Refusal(Source(exp, "{'c0': (64, 4)}", "op_info={'a': 'b'}, ")),
              HasSubstr("op_info 'a': the string 'b' where a number should be"));
}

TEST(OpSpecSource, NestingAndLoopsAreLimited) {
  EXPECT_THAT(Refusal(std::string(100'000, '[')), HasSubstr("nested deeper than 64 levels"));
  std::string loops;
  for (int i = 0; i < 17; ++i) loops += "[LoopSpec(count=2, body=";
  loops += "[]";
  for (int i = 0; i < 17; ++i) loops += ")]";
  EXPECT_THAT(Refusal(loops), HasSubstr("more than 16 loops"));
}

}  // namespace
}  // namespace spyre::compiler::op_spec_test
