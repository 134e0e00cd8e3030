// SPDX-License-Identifier: Apache-2.0
// bundle.mlir as the public emitter writes it: the sample bundles in tests/data/bundles, and the
// rules of its numbering.
#include "runtime/compiler/bundle/bundle_mlir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/ir.h"
#include "tests/paths.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::bundle_mlir_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Sizes = std::vector<int64_t>;

std::string WithoutSpace(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return isspace(c); }),
             text.end());
  return text;
}

std::string Sample(const std::string& directory) {
  std::ifstream file(std::string(SPYRE_SOURCE_DIR) + "/tests/data/bundles/" + directory +
                     "/bundle.mlir");
  EXPECT_TRUE(file.good()) << directory;
  std::stringstream text;
  text << file.rdbuf();
  return WithoutSpace(text.str());
}

std::string Text(const Bundle& bundle, BundleDialect dialect) {
  return WithoutSpace(BundleMlir(bundle, dialect));
}

// An execute whose tensors, one per entry of `starts`, have one address per core.
struct TensorStarts {
  int argument;
  Sizes offsets;
};
BundleExecute Execute(int dsc, const std::vector<TensorStarts>& starts, const Sizes& loop_stride,
                      bool absolute, int64_t& next_id) {
  BundleExecute execute;
  execute.dsc = dsc;
  for (const TensorStarts& tensor : starts) {
    for (const int64_t offset : tensor.offsets) {
      const auto base = static_cast<int64_t>(kSegmentBytes) * tensor.argument;
      execute.symbols[next_id--] = absolute
                                       ? AddressExpression{-1, base + offset, loop_stride}
                                       : AddressExpression{tensor.argument, offset, loop_stride};
    }
  }
  return execute;
}

Bundle WithArguments(int count) {
  Bundle bundle;
  for (int i = 0; i < count; ++i) {
    bundle.arguments.push_back({BundleArgument::Kind::kTensor, "arg_" + std::to_string(i)});
  }
  return bundle;
}

Sizes Steps(int64_t step, int64_t count) {
  Sizes steps;
  for (int64_t i = 0; i < count; ++i) steps.push_back(step * i);
  return steps;
}

// y = a + b in LX, z = y * c, 32 cores by rows, two loops.
Bundle SeedChain(bool absolute) {
  Bundle bundle = WithArguments(absolute ? 0 : 4);
  bundle.files = {"sdsc_0.json", "sdsc_1.json"};
  const Sizes stride = {65536, 2097152};
  const Sizes cores = Steps(2048, 32);
  int64_t id = -1;
  BundleLoop inner{4, -1, {}};
  inner.body.emplace_back(Execute(0, {{0, cores}, {1, cores}}, stride, absolute, id));
  inner.body.emplace_back(Execute(1, {{2, cores}, {3, cores}}, stride, absolute, id));
  bundle.body = {BundleLoop{2, -1, {inner}}};
  return bundle;
}

Bundle Matmul(bool absolute) {
  Bundle bundle = WithArguments(absolute ? 0 : 3);
  bundle.files = {"sdsc_0.json"};
  int64_t id = -1;
  bundle.body = {Execute(0, {{0, Steps(1024, 4)}, {1, Steps(16384, 3)}, {2, Steps(1024, 12)}}, {},
                         absolute, id)};
  return bundle;
}

TEST(BundleMlir, LoopsWithConstantsAsSymbols) {
  EXPECT_EQ(Text(SeedChain(true), BundleDialect::kSymbolicConstants),
            Sample("symbolic_constants/loop_chain_seed_1024x4096_k2_m4/loops"));
  EXPECT_EQ(Text(Matmul(true), BundleDialect::kSymbolicConstants),
            Sample("symbolic_constants/mm_32x128x192_m4_n3/flat"));
}

TEST(BundleMlir, ArgumentsWrittenAsConstantsHaveOneSegmentEach) {
  EXPECT_EQ(Text(SeedChain(false), BundleDialect::kSymbolicConstants),
            Text(SeedChain(true), BundleDialect::kSymbolicConstants));
}

TEST(BundleMlir, LoopsWithSymbolicArguments) {
  EXPECT_EQ(Text(SeedChain(false), BundleDialect::kSymbolicArguments),
            Sample("symbolic_args/loop_chain_seed_1024x4096_k2_m4/loops"));
  EXPECT_EQ(Text(Matmul(false), BundleDialect::kSymbolicArguments),
            Sample("symbolic_args/mm_32x128x192_m4_n3/flat"));
}

TEST(BundleMlir, OperationsThatUseOneArgumentShareItsAddresses) {
  Bundle bundle = WithArguments(2);
  const Sizes cores = Steps(1024, 4);
  int64_t id = -1;
  for (int i = 0; i < 5; ++i) bundle.files.push_back("sdsc_" + std::to_string(i) + ".json");
  bundle.body = {Execute(0, {{0, cores}}, {}, false, id), Execute(1, {{0, cores}}, {}, false, id),
                 Execute(2, {}, {}, false, id), Execute(3, {}, {}, false, id),
                 Execute(4, {{1, cores}}, {}, false, id)};
  EXPECT_EQ(Text(bundle, BundleDialect::kSymbolicArguments),
            Sample("symbolic_args/softmax_lx_32x256/flat"));
}

TEST(BundleMlir, BakedAddressesAreExecutesAlone) {
  Bundle bundle;
  for (int i = 0; i < 16; ++i) {
    bundle.files.push_back("sdsc_" + std::to_string(i) + ".json");
    bundle.body.emplace_back(BundleExecute{i, {}});
  }
  EXPECT_EQ(Text(bundle, BundleDialect::kBakedAddresses),
            Sample("flat_baked_addresses/loop_chain_seed_1024x4096_k2_m4/unrolled"));
}

// An execute in two loops, with one symbol for each list of strides.
std::string TwoLoops(const std::vector<Sizes>& strides) {
  Bundle bundle;
  bundle.files = {"sdsc_0.json"};
  BundleExecute execute;
  for (size_t i = 0; i < strides.size(); ++i) {
    execute.symbols[-1 - static_cast<int64_t>(i)] = {-1, static_cast<int64_t>(4096 * i),
                                                     strides[i]};
  }
  bundle.body = {BundleLoop{2, -1, {BundleLoop{3, -1, {execute}}}}};
  return BundleMlir(bundle, BundleDialect::kSymbolicConstants);
}

TEST(BundleMlir, MapsHaveTheLoopsThatAdvanceAndNoOthers) {
  const std::string text = TwoLoops({{128, 0}, {0, 256}, {128, 256}, {0, 0}});
  EXPECT_THAT(text, HasSubstr("#map_0 = affine_map<(d0)[s0] -> (s0 + 128*d0)>\n"
                              "#map_1 = affine_map<(d0)[s0] -> (s0 + 256*d0)>\n"
                              "#map_2 = affine_map<(d0, d1)[s0] -> (s0 + 128*d0 + 256*d1)>\n"));
  EXPECT_THAT(text, HasSubstr("%addr_0 = affine.apply #map_0(%i_0)[%sym_1]"));
  EXPECT_THAT(text, HasSubstr("%addr_1 = affine.apply #map_1(%i_1)[%sym_2]"));
  EXPECT_THAT(text, HasSubstr("%addr_2 = affine.apply #map_2(%i_0, %i_1)[%sym_3]"));
  EXPECT_THAT(text, HasSubstr("(%addr_0, %addr_1, %addr_2, %sym_4)"));
}

TEST(BundleMlir, OneMapServesEqualStridesOnWhicheverLoop) {
  const std::string text = TwoLoops({{128, 0}, {0, 128}});
  EXPECT_THAT(text, Not(HasSubstr("#map_1")));
  EXPECT_THAT(text, HasSubstr("#map_0(%i_0)[%sym_1]"));
  EXPECT_THAT(text, HasSubstr("#map_0(%i_1)[%sym_2]"));
}

TEST(BundleMlir, APoolIsAnArgumentWithOffsetsOfItsOwn) {
  Bundle bundle;
  bundle.files = {"sdsc_0.json"};
  bundle.arguments = {{BundleArgument::Kind::kPool, "pool"},
                      {BundleArgument::Kind::kTensor, "arg_0"}};
  BundleExecute execute;
  execute.symbols[-1] = {1, 0, {}};
  execute.symbols[-2] = {0, 0, {}};
  execute.symbols[-3] = {0, 8192, {}};
  bundle.body = {execute, execute};
  const std::string text = BundleMlir(bundle, BundleDialect::kSymbolicArguments);
  EXPECT_THAT(text, HasSubstr("@sdsc_bundle(%pool_base_addr: !sdscbundle.input_arg<index>, "
                              "%arg_0_base_addr: !sdscbundle.input_arg<index>) {\n"));
  EXPECT_THAT(text, HasSubstr("\t\t%pool_offset_0 = arith.constant 0 : index\n"
                              "\t\t%pool_addr_0 = arith.addi %pool, %pool_offset_0 : index\n"
                              "\t\t%pool_offset_8192 = arith.constant 8192 : index\n"));
  EXPECT_THAT(text, HasSubstr("(%arg_0, %pool_addr_0, %pool_addr_8192)"));
}

TEST(BundleMlir, CoresOfASlicedTensorStartFromTheSlice) {
  Bundle bundle = WithArguments(1);
  bundle.files = {"sdsc_0.json"};
  SuperDsc dsc;
  SdscTensor tensor;
  tensor.symbolic = true;
  tensor.start = {-1, -2, -1};
  dsc.tensors = {tensor};
  bundle.dscs = {dsc};
  BundleExecute execute;
  execute.symbols[-1] = {0, 1024, {}};
  execute.symbols[-2] = {0, 1536, {}};
  bundle.body = {execute};
  EXPECT_THAT(
      BundleMlir(bundle, BundleDialect::kSymbolicArguments),
      HasSubstr("\t\t%arg_0_slice_offset_1024 = arith.constant 1024 : index\n"
                "\t\t%arg_0_slice_1024 = arith.addi %arg_0, %arg_0_slice_offset_1024 : index\n"
                "\t\t%arg_0_slice_1024_core_offset_512 = arith.constant 512 : index\n"
                "\t\t%arg_0_slice_1024_core_512 = arith.addi %arg_0_slice_1024, "
                "%arg_0_slice_1024_core_offset_512 : index\n"
                "\t\tsdscbundle.sdsc_execute (%arg_0_slice_1024, %arg_0_slice_1024_core_512) "));
}

Bundle CountedByArgument() {
  Bundle bundle = WithArguments(1);
  bundle.files = {"sdsc_0.json"};
  bundle.arguments.push_back({BundleArgument::Kind::kDimension, "dim_s0", 512, 64});
  BundleExecute execute;
  execute.symbols[-1] = {0, 0, {128}};
  bundle.body = {BundleLoop{512, 1, {execute}}};
  return bundle;
}

TEST(BundleMlir, LoopsMayCountByAnArgumentThatIsADimension) {
  const std::string text = BundleMlir(CountedByArgument(), BundleDialect::kSymbolicArguments);
  EXPECT_THAT(text, HasSubstr("%dim_s0_base: !sdscbundle.input_arg<index, granularity=64, "
                              "max_value=512>"));
  EXPECT_THAT(text, HasSubstr("scf.for %i_0 = %c0 to %dim_s0 step %c1 {"));
}

TEST(BundleMlir, ConstantsCannotSayASymbolicCount) {
  try {
    BundleMlir(CountedByArgument(), BundleDialect::kSymbolicConstants);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "NotImplementedError");
  }
}

// ---------------------------------------------------------------- the writer alone

MlirModule OneExecute(std::vector<MlirTensor> tensors) {
  MlirModule module;
  module.symbols = {{-1, {-1, 4096, 0}}, {-2, {-1, 8192, 0}}};
  module.body = {MlirLoop{2, -1, {MlirExecute{"sdsc_0.json", std::move(tensors)}}}};
  return module;
}

TEST(BundleMlir, TensorsAtOneAddressShareItsOperandAndTheFirstThatAdvancesDecides) {
  const std::string text = WriteMlir(OneExecute({{{-1}, {0}}, {{-1, -2}, {128}}, {{-1}, {256}}}));
  EXPECT_THAT(text, HasSubstr("#map_1")) << "maps are declared for every tensor that advances";
  EXPECT_THAT(text, HasSubstr("\t\t\t%addr_0 = affine.apply #map_0(%i_0)[%sym_1]\n"
                              "\t\t\t%addr_1 = affine.apply #map_0(%i_0)[%sym_2]\n"
                              "\t\t\tsdscbundle.sdsc_execute (%addr_0, %addr_1) "
                              "{sdsc_filename=\"sdsc_0.json\", \"symbol_ids\"=[-1, -2]}\n"));
}

TEST(BundleMlir, OperandsFollowTheIdsAddressesFollowTheTensorsThatAdvance) {
  const std::string text = WriteMlir(OneExecute({{{-1}, {}}, {{-2}, {128}}, {{-1}, {128}}}));
  EXPECT_THAT(text, HasSubstr("%addr_0 = affine.apply #map_0(%i_0)[%sym_2]"));
  EXPECT_THAT(text, HasSubstr("(%addr_1, %addr_0)"));
}

TEST(BundleMlir, WithoutLoopsThereAreNoLoopConstants) {
  MlirModule module;
  module.body = {MlirExecute{"sdsc_0.json", {}}};
  EXPECT_EQ(WriteMlir(module),
            "module {\n\tfunc.func @sdsc_bundle() {\n"
            "\t\tsdscbundle.sdsc_execute () {sdsc_filename=\"sdsc_0.json\", \"symbol_ids\"=[]}\n"
            "\t\treturn\n\t}\n}\n");
}

TEST(BundleMlir, LoopsAreNumberedDepthFirst) {
  MlirModule module;
  const MlirExecute execute{"sdsc_0.json", {}};
  module.body = {MlirLoop{2, -1, {MlirLoop{3, -1, {execute}}, MlirLoop{5, -1, {execute}}}},
                 MlirLoop{7, -1, {execute}}};
  const std::string text = WriteMlir(module);
  EXPECT_THAT(text, HasSubstr("%loop_bound_0 = arith.constant 2 : index\n"
                              "\t\t%loop_bound_1 = arith.constant 3 : index\n"
                              "\t\t%loop_bound_2 = arith.constant 5 : index\n"
                              "\t\t%loop_bound_3 = arith.constant 7 : index\n"));
  EXPECT_THAT(text, HasSubstr("\t\tscf.for %i_3 = %c0 to %loop_bound_3 step %c1 {\n"));
}

// ---------------------------------------------------------------- any bundle

class AnyBundle {
 public:
  AnyBundle(std::mt19937& random, bool arguments) : random_(random) {
    if (!arguments) return;
    if (test::DrawBool(random)) bundle_.arguments = {{BundleArgument::Kind::kPool, "pool"}};
    const int tensors = test::Draw(random, 1, 3);
    for (int i = 0; i < tensors; ++i) {
      bundle_.arguments.push_back({BundleArgument::Kind::kTensor, "arg_" + std::to_string(i)});
    }
  }

  Bundle Make() {
    bundle_.body = Nodes(0);
    return bundle_;
  }

 private:
  std::vector<BundleNode> Nodes(size_t depth) {
    std::vector<BundleNode> nodes;
    const int count = test::Draw(random_, 1, 3);
    for (int i = 0; i < count; ++i) {
      if (depth < 3 && random_() % 3 == 0) {
        nodes.emplace_back(BundleLoop{test::Draw<int64_t>(random_, 1, 8), -1, Nodes(depth + 1)});
      } else {
        nodes.emplace_back(Execute(depth));
      }
    }
    return nodes;
  }

  BundleExecute Execute(size_t depth) {
    BundleExecute execute;
    execute.dsc = static_cast<int>(bundle_.files.size());
    bundle_.files.push_back("sdsc_" + std::to_string(execute.dsc) + ".json");
    const int symbols = test::Draw(random_, 0, 4);
    for (int i = 0; i < symbols; ++i) {
      AddressExpression address;
      if (!bundle_.arguments.empty()) {
        address.argument = static_cast<int>(random_() % bundle_.arguments.size());
      }
      address.constant = 128 * test::Draw<int64_t>(random_, 0, 4);
      for (size_t level = 0; level < depth; ++level) {
        address.loop_stride.push_back(128 * test::Draw<int64_t>(random_, 0, 2));
      }
      execute.symbols[next_id_--] = address;
    }
    return execute;
  }

  std::mt19937& random_;
  Bundle bundle_;
  int64_t next_id_ = -1;
};

void ExpectSame(const std::vector<BundleNode>& read, const std::vector<BundleNode>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    ASSERT_EQ(read[i].index(), written[i].index());
    if (const auto* loop = std::get_if<BundleLoop>(&written[i])) {
      EXPECT_EQ(std::get<BundleLoop>(read[i]).count, loop->count);
      ExpectSame(std::get<BundleLoop>(read[i]).body, loop->body);
      continue;
    }
    const auto& symbols = std::get<BundleExecute>(read[i]).symbols;
    const auto& expected = std::get<BundleExecute>(written[i]).symbols;
    EXPECT_EQ(symbols.size(), expected.size());
    for (const auto& [id, address] : expected) {
      const AddressExpression& other = symbols.at(id);
      EXPECT_EQ(other.argument, address.argument);
      EXPECT_EQ(other.constant, address.constant);
      EXPECT_TRUE(other.loop_stride == address.loop_stride);
    }
  }
}

TEST(BundleMlir, WhatIsWrittenIsReadBackAsTheSameAddressesInTheSameLoops) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const bool arguments = test::DrawBool(random);
    const Bundle bundle = AnyBundle(random, arguments).Make();
    const BundleDialect dialect =
        arguments ? BundleDialect::kSymbolicArguments : BundleDialect::kSymbolicConstants;
    const std::string text = BundleMlir(bundle, dialect);
    const Bundle read = ParseBundleMlir(text, "bundle.mlir");
    EXPECT_TRUE(read.files == bundle.files);
    EXPECT_EQ(read.arguments.size(), bundle.arguments.size());
    ExpectSame(read.body, bundle.body);
    EXPECT_EQ(BundleMlir(read, dialect), text);
  });
}

TEST(BundleMlir, TheSamplesAreReadAndWrittenAgainAsTheyWere) {
  const std::pair<const char*, BundleDialect> samples[] = {
      {"symbolic_constants/loop_chain_seed_1024x4096_k2_m4/loops",
       BundleDialect::kSymbolicConstants},
      {"symbolic_constants/softmax_lx_32x256/flat", BundleDialect::kSymbolicConstants},
      {"symbolic_args/loop_rows_flat_k4/loops", BundleDialect::kSymbolicArguments},
      {"symbolic_args/sum_stick_dim_32x256/flat", BundleDialect::kSymbolicArguments},
      {"flat_baked_addresses/loop_rows_flat_k4/unrolled", BundleDialect::kBakedAddresses}};
  for (const auto& [directory, dialect] : samples) {
    const Bundle bundle =
        ReadBundle(std::string(SPYRE_SOURCE_DIR) + "/tests/data/bundles/" + directory);
    EXPECT_EQ(Text(bundle, dialect), Sample(directory)) << directory;
  }
}

}  // namespace
}  // namespace spyre::compiler::bundle_mlir_test
