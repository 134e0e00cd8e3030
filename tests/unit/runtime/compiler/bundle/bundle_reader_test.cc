// SPDX-License-Identifier: Apache-2.0
// bundle.mlir and the directory around it: the samples of every dialect, the forms that the public
// interface allows, and what is refused, with line and column.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "runtime/compiler/bundle/bundle.h"
#include "tests/paths.h"

namespace spyre::compiler::bundle_reader_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = BundleArgument::Kind;

const fs::path kBundles = SPYRE_SOURCE_DIR "/tests/data/bundles";
const fs::path kReal = SPYRE_SOURCE_DIR "/tests/data/real_bundles";

// A function around these lines, which begin in line 3.
std::string Module(const std::string& body, const std::string& parameters = "",
                   const std::string& before = "") {
  return before + "module {\nfunc.func @sdsc_bundle(" + parameters + ") {\n" + body +
         "\nreturn\n}\n}\n";
}
Bundle Parse(const std::string& body, const std::string& parameters = "",
             const std::string& before = "") {
  return ParseBundleMlir(Module(body, parameters, before), "b.mlir");
}

std::string Refusal(const std::string& text) {
  try {
    ParseBundleMlir(text, "b.mlir");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "not refused:\n" << text;
  return "";
}
std::string RefusalOf(const std::string& body, const std::string& parameters = "") {
  return Refusal(Module(body, parameters));
}

const BundleLoop& Loop(const std::vector<BundleNode>& nodes, size_t i = 0) {
  return std::get<BundleLoop>(nodes.at(i));
}
const BundleExecute& Execute(const std::vector<BundleNode>& nodes, size_t i = 0) {
  return std::get<BundleExecute>(nodes.at(i));
}

TEST(BundleReader, TheSeedExampleKeepsItsLoopsInBothDialectsWithLoops) {
  for (const char* dialect : {"symbolic_constants", "symbolic_args"}) {
    const Bundle bundle = ReadBundle(kBundles / dialect / "loop_chain_seed_1024x4096_k2_m4/loops");
    const bool arguments = dialect == std::string("symbolic_args");
    EXPECT_THAT(bundle.files, ElementsAre("sdsc_0.json", "sdsc_1.json"));
    EXPECT_EQ(bundle.arguments.size(), arguments ? 4u : 0u);
    const BundleLoop& outer = Loop(bundle.body);
    EXPECT_EQ(outer.count, 2);
    const BundleLoop& inner = Loop(outer.body);
    EXPECT_EQ(inner.count, 4);
    ASSERT_EQ(inner.body.size(), 2u);
    // Core 1 of the second operand: 2048 bytes behind its start, steps by device strides.
    const AddressExpression& address = Execute(inner.body).symbols.at(-34);
    EXPECT_EQ(address.argument, arguments ? 1 : -1);
    EXPECT_EQ(address.constant, (arguments ? 0 : 17179869184) + 2048);
    EXPECT_THAT(address.loop_stride, ElementsAre(65536, 2097152));
  }
}

TEST(BundleReader, EverySampleAndEveryRealCaptureIsRead) {
  int bundles = 0;
  for (const fs::path& root : {kBundles, kReal}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_directory() || !fs::exists(entry.path() / "sdsc_0.json")) continue;
      ++bundles;
      const Bundle bundle = ReadBundle(entry.path());
      EXPECT_EQ(bundle.dscs.size(), bundle.files.size());
      EXPECT_EQ(bundle.name, entry.path().filename());
    }
  }
  EXPECT_EQ(bundles, 19);
  EXPECT_EQ(ReadBundle(kReal / "mlp_512x4096x12800_heuristic").dscs[0].op, "batchmatmul");
}

TEST(BundleReader, WithoutMlirTheFilesRunInOrderOfTheirNumbers) {
  const Bundle bundle = ReadBundle(kReal / "swiglu_512x4096x12800");
  ASSERT_EQ(bundle.body.size(), 9u);
  EXPECT_EQ(bundle.files.front(), "sdsc_0.json");
  EXPECT_EQ(bundle.dscs[1].op, "batchmatmul");
  EXPECT_EQ(bundle.dscs[8].op, "batchmatmul");
}

TEST(BundleReader, AddressesAreFoldedThroughAnyAffineArithmetic) {
  const Bundle bundle = Parse(
      R"(%c2 = arith.constant 2 : index
%c8 = arith.constant 8 : index
%c3 = arith.constant 3 : index // a comment
%p = sdscbundle.input_arg_extract value from %p_base_addr : !sdscbundle.input_arg<index> -> index
scf.for %i = %c2 to %c8 step %c3 {
  affine.for %j = 1 to 4 {
    %a = affine.apply #m(%j, %i)[%p, %c8]
    %b = arith.muli %i, %c8 : index
    %c = arith.subi %a, %b : index
    %d = affine.apply affine_map<(d0) -> (d0 * 128 + 1024)>(%j)
    sdscbundle.sdsc_execute (%c, %d, %p) {sdsc_filename="sub/x.json", symbol_ids=[-3, -1, -2]}
  }
})",
      "%p_base_addr: !sdscbundle.input_arg<index>",
      "#m = affine_map<(d0, d1)[s0, s1] -> (s0 + 2 * (d1 * 16 + d0) + s1 floordiv 3 + 7 mod 4)>\n");
  ASSERT_EQ(bundle.arguments.size(), 1u);
  EXPECT_EQ(bundle.arguments[0].name, "p");
  EXPECT_THAT(bundle.files, ElementsAre("sub/x.json"));
  const BundleLoop& outer = Loop(bundle.body);
  EXPECT_EQ(outer.count, 2);  // 2 and 5
  EXPECT_EQ(Loop(outer.body).count, 3);
  const auto& symbols = Execute(Loop(outer.body).body).symbols;
  // p + 32 i + 2 j + 8/3 + 3 - 8 i, with i = 2 + 3 x and j = 1 + y
  EXPECT_EQ(symbols.at(-3).argument, 0);
  EXPECT_EQ(symbols.at(-3).constant, 24 * 2 + 2 + 2 + 3);
  EXPECT_THAT(symbols.at(-3).loop_stride, ElementsAre(72, 2));
  EXPECT_EQ(symbols.at(-1).argument, -1);
  EXPECT_EQ(symbols.at(-1).constant, 1024 + 128);
  EXPECT_THAT(symbols.at(-1).loop_stride, ElementsAre(0, 128));
  EXPECT_THAT(symbols.at(-2).loop_stride, ElementsAre(0, 0));
}

TEST(BundleReader, ArgumentsKnowTheirKindsAndDimensionsCountTrips) {
  const Bundle bundle = Parse(
      R"(%pool = sdscbundle.input_arg_extract value from %pool_base_addr : !sdscbundle.input_arg<index> -> index
%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
%dim_s0 = sdscbundle.input_arg_extract value from %dim_s0_base : !sdscbundle.input_arg<index, granularity=128, max_value=512> -> index
%gran = sdscbundle.input_arg_extract granularity from %dim_s0_base : !sdscbundle.input_arg<index, granularity=128, max_value=512> -> index
%c0 = arith.constant 0 : index
%step = arith.constant 64 : index
scf.for %i = %c0 to %dim_s0 step %step {
  %a = affine.apply affine_map<(d0)[s0] -> (s0 + 128 * d0)>(%i)[%arg_0]
  %b = arith.addi %pool, %gran : index
  sdscbundle.sdsc_execute (%a, %b) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2]}
}
%one = arith.constant 1 : index
%trips = arith.ceildivsi %dim_s0, %step : index
scf.for %i = %c0 to %trips step %one {
  sdscbundle.sdsc_execute () {sdsc_filename="sdsc_1.json", "symbol_ids"=[]}
})",
      "%pool_base_addr: !sdscbundle.input_arg<index>, %arg_0_base_addr: "
      "!sdscbundle.input_arg<index>,\n  %dim_s0_base: !sdscbundle.input_arg<index, granularity=128,"
      " max_value=512>");
  ASSERT_EQ(bundle.arguments.size(), 3u);
  EXPECT_EQ(bundle.arguments[0].kind, Kind::kPool);
  EXPECT_EQ(bundle.arguments[0].name, "pool");
  EXPECT_EQ(bundle.arguments[1].kind, Kind::kTensor);
  EXPECT_EQ(bundle.arguments[1].name, "arg_0");
  const BundleArgument& dim = bundle.arguments[2];
  EXPECT_EQ(dim.kind, Kind::kDimension);
  EXPECT_EQ(dim.name, "dim_s0");
  EXPECT_EQ(dim.unit, 64);
  EXPECT_EQ(dim.max, 8);
  EXPECT_EQ(dim.granularity, 2);
  for (const size_t loop : {0, 1}) {
    EXPECT_EQ(Loop(bundle.body, loop).count, 8);
    EXPECT_EQ(Loop(bundle.body, loop).count_argument, 2);
  }
  const auto& symbols = Execute(Loop(bundle.body).body).symbols;
  EXPECT_THAT(symbols.at(-1).loop_stride, ElementsAre(64 * 128));
  EXPECT_EQ(symbols.at(-2).argument, 0);
  EXPECT_EQ(symbols.at(-2).constant, 128);
}

TEST(BundleReader, AllocationsOfTheFunctionAreThePool) {
  const Bundle bundle = Parse(
      R"(%x = sdscbundle.device_mem_allocate 1000 bytes : index
%y = sdscbundle.device_mem_allocate 256 bytes : index
sdscbundle.sdsc_execute (%arg_0, %x, %y) {sdsc_filename="a.json", symbol_ids=[-1, -2, -3]})",
      "%arg_0: index");
  ASSERT_EQ(bundle.arguments.size(), 2u);
  EXPECT_EQ(bundle.arguments[0].kind, Kind::kTensor);
  EXPECT_EQ(bundle.arguments[1].kind, Kind::kPool);
  const auto& symbols = Execute(bundle.body).symbols;
  EXPECT_EQ(symbols.at(-1).argument, 0);
  EXPECT_EQ(symbols.at(-2).argument, 1);
  EXPECT_EQ(symbols.at(-3).constant, 1024);
}

TEST(BundleReader, LoopsThatNeverRunDisappear) {
  const Bundle bundle = Parse(R"(affine.for %i = 4 to 4 {
  sdscbundle.sdsc_execute () {sdsc_filename="a.json"}
}
sdscbundle.sdsc_execute () {sdsc_filename="b.json"})");
  ASSERT_EQ(bundle.body.size(), 1u);
  EXPECT_EQ(bundle.files[static_cast<size_t>(Execute(bundle.body).dsc)], "b.json");
}

TEST(BundleReader, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT(Refusal("module {\n  func.func @f() {\n    retrun\n  }\n}\n"),
              HasSubstr("b.mlir:3:5: "));
  EXPECT_THAT(RefusalOf("%a = arith.constant 1 : inde"), HasSubstr("b.mlir:3:24: expected"));
  EXPECT_THAT(RefusalOf("sdscbundle.sdsc_execute (%a) {sdsc_filename=\"a\"}"),
              HasSubstr("b.mlir:3:26: use of undeclared SSA value name"));
  EXPECT_THAT(RefusalOf("sdscbundle.sdsc_execut () {}"), HasSubstr("b.mlir:3:1: "));
  EXPECT_THAT(RefusalOf("\"abc"), HasSubstr("b.mlir:3:1: the string that begins here"));
  EXPECT_THAT(RefusalOf("%p = sdscbundle.input_arg_extract size from %a : index -> index"),
              AllOf(HasSubstr("b.mlir:3:35: "),
                    HasSubstr("'size' where value, granularity or max_value should be")));
  EXPECT_THAT(Refusal(Module("", "%a: !sdscbundle.input_arg<index, step=3>")),
              HasSubstr("b.mlir:2:57: 'step' where granularity or max_value"));
  EXPECT_THAT(Refusal(""), HasSubstr("b.mlir"));
  EXPECT_THAT(Refusal("module {}"), HasSubstr("b.mlir:1:1: there is no function"));
}

TEST(BundleReader, OperationsThatABundleDoesNotHaveAreNamed) {
  const std::string constants = "%c0 = arith.constant 0 : index\n%c9 = arith.constant 9 : index\n";
  EXPECT_THAT(RefusalOf("%t = arith.constant true\nscf.if %t {\n}"),
              HasSubstr("b.mlir:4:1: a bundle has no 'scf.if'"));
  EXPECT_THAT(RefusalOf("%x = arith.constant 1.0 : f32"),
              HasSubstr("b.mlir:3:6: the constant must be an integer"));
  EXPECT_THAT(RefusalOf(constants + "%x = arith.divui %c9, %c9 : index"),
              HasSubstr("b.mlir:5:6: a bundle has no 'arith.divui'"));
  EXPECT_THAT(RefusalOf("func.call @sdsc_bundle() : () -> ()"), HasSubstr("'func.call'"));
  EXPECT_THAT(Refusal("func.func @a() { return }\nfunc.func @b() { return }"),
              HasSubstr("b.mlir:2:1: a second function"));
  EXPECT_THAT(Refusal("func.func private @a()"), HasSubstr("no body"));
  EXPECT_THAT(Refusal(Module("", "%x: f32")), HasSubstr("b.mlir:2:24: a parameter must be index"));
  EXPECT_THAT(RefusalOf("%x = arith.constant dense<1> : tensor<4xi8>"),
              HasSubstr("b.mlir:3:21: a bundle has no 'dense'"));
}

TEST(BundleReader, LoopsOfOtherKindsAreRefused) {
  const std::string constants = "%c0 = arith.constant 0 : index\n%c9 = arith.constant 9 : index\n";
  EXPECT_THAT(
      RefusalOf(constants + "scf.for %i = %c0 to %n step %c9 {\n}", "%n: index"),
      HasSubstr("b.mlir:5:1: the upper bound must be a constant, or from 0 to an argument"));
  EXPECT_THAT(RefusalOf(constants + "scf.for %i = %n to %c9 step %c9 {\n}", "%n: index"),
              HasSubstr("lower bound and step must be constants"));
  EXPECT_THAT(RefusalOf(constants + "scf.for %i = %c0 to %c9 step %c0 {\n}"),
              HasSubstr("the step at least 1"));
  EXPECT_THAT(RefusalOf(constants + "%r = scf.for %i = %c0 to %c9 step %c9 iter_args(%x = %c0) -> "
                                    "(index) {\nscf.yield %x : index\n}"),
              HasSubstr("b.mlir:5:6: values carried by a loop are not supported"));
  std::string nest;
  for (int i = 0; i < 17; ++i) nest += fmt::format("affine.for %i{} = 0 to 2 {{\n", i);
  for (int i = 0; i < 17; ++i) nest += "}\n";
  EXPECT_THAT(RefusalOf(nest), HasSubstr("b.mlir:19:1: more than 16 loops"));
}

TEST(BundleReader, ExecutesMustBindWhatTheyName) {
  const std::string c = "%c = arith.constant 128 : index\n";
  EXPECT_THAT(RefusalOf(c + "sdscbundle.sdsc_execute (%c) {sdsc_filename=\"a\"}"),
              HasSubstr("b.mlir:4:1: 1 operands for 0 symbol_ids"));
  EXPECT_THAT(RefusalOf(c + "sdscbundle.sdsc_execute (%c) {symbol_ids=[-1]}"),
              HasSubstr("sdsc_execute needs sdsc_filename"));
  EXPECT_THAT(RefusalOf(c + "sdscbundle.sdsc_execute (%c) {sdsc_filename=\"a\", symbol_ids=[1]}"),
              HasSubstr("symbol id 1 must be negative"));
  EXPECT_THAT(RefusalOf(c + "sdscbundle.sdsc_execute (%c) {sdsc_filename=\"a\", symbol_ids=-1}"),
              HasSubstr("symbol_ids must be a list"));
  EXPECT_THAT(RefusalOf(c + "sdscbundle.sdsc_execute (%c, %n) {sdsc_filename=\"a\", "
                            "symbol_ids=[-1, -1]}",
                        "%n: index"),
              HasSubstr("symbol id -1 is given twice"));
  EXPECT_THAT(RefusalOf("%s = arith.addi %m, %n : index\n"
                        "sdscbundle.sdsc_execute (%s) {sdsc_filename=\"a\", symbol_ids=[-1]}",
                        "%m: index, %n: index"),
              HasSubstr("b.mlir:4:1: an address must be one argument"));
  EXPECT_THAT(RefusalOf("%s = arith.muli %n, %n : index", "%n: index"),
              HasSubstr("b.mlir:3:6: 'arith.muli': the value must be a sum"));
  EXPECT_THAT(RefusalOf("%s = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%n)", "%n: index"),
              HasSubstr("b.mlir:3:6: 'affine.apply'"));
  EXPECT_THAT(RefusalOf("%c = arith.constant 9223372036854775807 : index\n"
                        "%s = arith.addi %c, %c : index"),
              HasSubstr("within 64 bits"));
}

TEST(BundleReader, TextThatWouldExhaustTheParserIsRefusedBefore) {
  EXPECT_THAT(RefusalOf(std::string(100'000, '(')),
              HasSubstr("b.mlir:3:63: nested deeper than 64"));
  std::string map = "affine_map<(d0) -> (d0";
  for (int i = 0; i < 100'000; ++i) map += " + d0";
  EXPECT_THAT(RefusalOf("%s = affine.apply " + map + ")>(%n)", "%n: index"),
              HasSubstr("b.mlir:3:19: an affine map of more than 4096 characters"));
  EXPECT_THAT(RefusalOf(std::string("\x01")), HasSubstr("byte 0x01 is not text"));
}

// A directory of one's own.
class BundleDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("bundle_") + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    fs::copy(kBundles / "symbolic_constants/add_64x128_rows4/flat", root_ / "in");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Mlir(const std::string& file, const std::string& bounds = "0 to 1") {
    std::ofstream(root_ / "in/bundle.mlir")
        << Module("affine.for %i = " + bounds +
                  " {\n  sdscbundle.sdsc_execute () {sdsc_filename=\"" + file + "\"}\n}");
  }
  std::string Refusal() {
    try {
      ReadBundle(root_ / "in");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }

  fs::path root_;
};

TEST_F(BundleDirectory, PathsThatLeaveItAreRefused) {
  fs::copy_file(root_ / "in/sdsc_0.json", root_ / "sdsc_0.json");
  Mlir("../sdsc_0.json");
  EXPECT_THAT(Refusal(), HasSubstr("a path with '..', '../sdsc_0.json'"));
  Mlir("x/../../sdsc_0.json");
  EXPECT_THAT(Refusal(), HasSubstr("a path with '..'"));
  Mlir((root_ / "sdsc_0.json").string());
  EXPECT_THAT(Refusal(), HasSubstr("the absolute path"));
  fs::create_symlink(root_ / "sdsc_0.json", root_ / "in/link.json");
  Mlir("link.json");
  EXPECT_THAT(Refusal(), HasSubstr("a link that leads out of the bundle, 'link.json'"));
  fs::create_directory_symlink(root_, root_ / "in/up");
  Mlir("up/sdsc_0.json");
  EXPECT_THAT(Refusal(), HasSubstr("a link that leads out of the bundle"));
}

TEST_F(BundleDirectory, LinksWithinItAreFollowed) {
  fs::remove_all(root_ / "in");
  fs::copy(kBundles / "flat_baked_addresses/add_64x128_rows4/flat", root_ / "in");
  fs::remove(root_ / "in/bundle.mlir");
  fs::create_symlink("sdsc_0.json", root_ / "in/sdsc_1.json");
  EXPECT_EQ(ReadBundle(root_ / "in/").body.size(), 2u);
  EXPECT_EQ(ReadBundle(root_ / "in/").name, "in");
}

TEST_F(BundleDirectory, MissingTruncatedAndForeignFilesAreNamed) {
  Mlir("sdsc_7.json");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("bundle.mlir"), HasSubstr("'sdsc_7.json'"),
                               HasSubstr("No such file")));
  for (const char* bounds : {"4 to 4", "0 to -2"}) {
    Mlir("sdsc_0.json", bounds);
    EXPECT_THAT(Refusal(), HasSubstr("bundle.mlir: nothing is executed: every loop has 0 trips"));
  }
  Mlir("sdsc_0.json");
  EXPECT_THAT(Refusal(), HasSubstr("sdsc_0.json uses symbol -1 (Tensor0), which sdsc_execute does "
                                   "not bind in symbol_ids"));
  fs::resize_file(root_ / "in/sdsc_0.json", 200);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("sdsc_0.json"), HasSubstr("line"), HasSubstr("column")));
  Mlir("sub");
  fs::create_directory(root_ / "in/sub");
  EXPECT_THAT(Refusal(), HasSubstr("sub"));
  std::ofstream(root_ / "in/huge.json").close();
  fs::resize_file(root_ / "in/huge.json", 1ull << 40);
  Mlir("huge.json");
  EXPECT_THAT(Refusal(), HasSubstr("huge.json"));
  fs::remove_all(root_ / "in");
  EXPECT_THAT(Refusal(), HasSubstr("the directory of a bundle is expected"));
  fs::create_directory(root_ / "in");
  EXPECT_THAT(Refusal(), HasSubstr("neither bundle.mlir nor sdsc_<number>.json"));
}

}  // namespace
}  // namespace spyre::compiler::bundle_reader_test
