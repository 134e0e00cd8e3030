// SPDX-License-Identifier: Apache-2.0
// Random lists of operations, compiled with random options and plans in every dialect and executed:
// by the files that the front end emits, and by the generated program. All must agree bit for bit,
// and with what the list means in float64. A refusal is a sentence.
// SPYRE_FUZZ_SEED: which seeds; SPYRE_FUZZ_SECONDS: go on for so long; SPYRE_FUZZ_FIRST and
// SPYRE_FUZZ_LIST: the seed to begin with, and a file with a list to take instead of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/op_spec_reference.h"
#include "model/contract/formats.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/codegen/bundle_kernel.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/graph_form/graph_form_values.h"
#include "runtime/compiler/list/dead_code.h"
#include "tests/fuzz/op_lists/compile_with_plan.h"
#include "tests/fuzz/op_lists/op_list_check.h"
#include "tests/fuzz/op_lists/random_chain.h"
#include "tests/fuzz/op_lists/random_op_list.h"
#include "tests/fuzz/op_lists/random_options.h"
#include "tests/fuzz/op_lists/random_plan.h"
#include "tests/fuzz/op_lists/random_reductions.h"
#include "tests/unit/runtime/compiler/program_interpreter.h"

namespace spyre::fuzz::op_list_fuzz_test {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;
using compiler::BundleDialect;
using compiler::FrontEndArgument;
using compiler::FrontEndResult;
using compiler::NamedGraph;
using Images = std::vector<std::vector<uint8_t>>;  // by argument of the kernel
using cosim::HostData;

constexpr BundleDialect kDialects[] = {BundleDialect::kSymbolicConstants,
                                       BundleDialect::kBakedAddresses,
                                       BundleDialect::kSymbolicArguments};
constexpr const char* kDialectNames[] = {"constants", "baked", "arguments"};

struct Tally {
  int lists = 0, refused = 0, hinted = 0, forced = 0, co_optimized = 0, tiled_reductions = 0;
  PlanTally plans;
  int64_t elements = 0, unknown = 0;
  std::map<std::string, int> refusals;
};

// One list: what it is, and what came of it.
class Trial {
 public:
  // list: with or without a plan. always: a random plan if it has none, else for every second seed.
  Trial(uint32_t seed, Json list, bool always, Tally& tally)
      : seed_(seed), random_(seed), tally_(tally), list_(std::move(list)), always_(always) {
    if (!list_.contains("plan")) return;
    plan_ = list_["plan"];
    list_.erase("plan");
  }

  void Run() {
    ++tally_.lists;
    const compiler::FrontEndOptions options = Options();
    try {
      graph_ = compiler::ReadNamedGraph(list_);
      if ((always_ || seed_ % 2 == 0) && plan_.is_null())
        plan_ = RandomPlan(compiler::EliminateDeadCode(graph_), seed_ ^ 0x5A5A).Make(false);
      result_ = CompileWithPlan(graph_, options, plan_, tally_.plans);
      if (!result_.groups.empty()) ++tally_.hinted;
      if (TilesOfReductions(result_.graph) > 1) ++tally_.tiled_reductions;
      if (IsCoOptimized(result_)) ++tally_.co_optimized;
    } catch (const Error& error) {
      EXPECT_TRUE(!options.co_optimize || IsRefusedAsItIs(options)) << error.what();
      return Refused(error);
    }
    inputs_ = RandomInputs(graph_, random_);
    if (!options.lx_planning && !plan_.contains("lx") && Below(2) == 0)
      ForceSplits(result_.source.body);
    std::vector<HostData> first;
    for (size_t i = 0; i < std::size(kDialects); ++i) {
      SCOPED_TRACE(kDialectNames[i]);
      std::vector<HostData> outputs;
      try {
        outputs = Execute(kDialects[i], i == seed_ % std::size(kDialects));
      } catch (const Error& error) {
        Refused(error);
        continue;
      }
      if (::testing::Test::HasFailure()) return;
      if (first.empty()) first = outputs;
      for (size_t o = 0; o < first.size() && o < outputs.size(); ++o)
        ExpectSame(outputs[o], first[o], fmt::format("output {}: another dialect, other bits", o));
    }
    tally_.forced += forced_ ? 1 : 0;
    if (!first.empty()) Compare(first);
  }

  std::string Text() const {
    return "seed " + std::to_string(seed_) + ": " + list_.dump() + "\nplan " + plan_.dump() +
           about_;
  }

 private:
  // What compiles without co-optimization compiles with it.
  bool IsRefusedAsItIs(compiler::FrontEndOptions options) const {
    options.co_optimize.reset();
    try {
      CompileNamedGraph(compiler::ReadNamedGraph(list_), options);
      return false;
    } catch (const Error&) {
      return true;
    }
  }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  compiler::FrontEndOptions Options() {
    compiler::FrontEndOptions options = RandomOptions(random_);
    about_ = "\n" + compiler::OptionsToJson(options).dump();
    return options;
  }

  void Refused(const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    EXPECT_GT(std::string(error.what()).size(), 20u) << error.what();
    ++tally_.refused;
    const auto* compile = dynamic_cast<const compiler::CompileError*>(&error);
    const std::string what = error.what();
    ++tally_.refusals[compile != nullptr ? compile->type() + " " + compile->message_kind()
                                         : what.substr(0, 40)];
  }

  HostData DataOf(const FrontEndArgument& argument) const {
    std::vector<double> values;
    if (argument.is_constant) {
      values = {argument.value};
    } else {
      for (const Bounded& element : inputs_.at(argument.name).data) values.push_back(element.value);
    }
    HostData data(values.size() * cosim::HostFormatOf(argument.host_format).bytes);
    for (size_t i = 0; i < values.size(); ++i)
      cosim::StoreHost(argument.host_format, values[i], data.data(), static_cast<int64_t>(i));
    return data;
  }

  // Executes the emitted files, and if asked the generated program; the outputs in order.
  std::vector<HostData> Execute(BundleDialect dialect, bool program) {
    Bundle bundle = compiler::EmitBundle(result_.source, dialect);
    if (seed_ % 16 == 0) bundle = WrittenAndRead(bundle, dialect);
    compiler::RefuseShortArguments(result_, bundle);
    compiler::BindSegments(bundle, result_.lx.pool_bytes > 0);
    const std::vector<compiler::ArgumentUse> uses = compiler::ArgumentUses(bundle);
    std::vector<int> tensors;  // arguments of the bundle that are tensors, in order
    std::vector<uint64_t> bytes;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (bundle.arguments[i].kind == BundleArgument::Kind::kTensor)
        tensors.push_back(static_cast<int>(i));
      bytes.push_back(AlignUp(uses[i].bytes, kStickBytes));
    }
    if (tensors.size() != result_.arguments.size()) {
      ADD_FAILURE() << tensors.size() << " arguments are bound, there are "
                    << result_.arguments.size();
      return {};
    }
    cosim::BundleMemory memory(bytes, kMaxCores, compiler::ResidentLxBytes(bundle), false);
    Images images;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const FrontEndArgument& argument = result_.arguments[i];
      const auto image_bytes = static_cast<size_t>(argument.layout.DeviceBytes());
      images.emplace_back(image_bytes, 0x5A);  // what nobody wrote
      if (!argument.is_output)
        images.back() =
            cosim::ToDeviceImage(argument.layout, argument.host_format, DataOf(argument));
      std::vector<uint8_t>& image = memory.image(tensors[i]);
      image = images.back();
    }
    cosim::RunBundleReference(bundle, {}, memory);
    std::vector<HostData> outputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (result_.arguments[i].is_output) outputs.push_back(HostOf(i, memory.image(tensors[i])));
    }
    if (program) ExpectProgramGives(bundle, std::move(images), outputs);
    return outputs;
  }

  HostData HostOf(size_t argument, const std::vector<uint8_t>& image) const {
    const FrontEndArgument& of = result_.arguments[argument];
    return cosim::FromDeviceImage(of.layout, of.host_format, image);
  }

  Bundle WrittenAndRead(const Bundle& bundle, BundleDialect dialect) const {
    const std::filesystem::path directory =
        std::filesystem::path(::testing::TempDir()) / "op_list_fuzz";
    std::filesystem::remove_all(directory);
    compiler::WriteBundle(bundle, dialect, directory);
    Bundle read = compiler::ReadBundle(directory);
    std::filesystem::remove_all(directory);
    return read;
  }

  void ExpectProgramGives(const Bundle& bundle, Images images,
                          const std::vector<HostData>& expected) {
    std::vector<compiler::KernelArgument> arguments;
    for (const FrontEndArgument& from : result_.arguments) {
      compiler::KernelArgument argument;
      argument.name = from.name;
      argument.is_output = from.is_output;
      argument.shape = from.layout.host_size;
      for (size_t d = 0; d < argument.shape.size(); ++d) argument.dims.push_back(std::to_string(d));
      argument.layout = from.layout;
      arguments.push_back(std::move(argument));
    }
    const compiler::Kernel kernel = compiler::GenerateBundleKernel(bundle, arguments, {});
    std::vector<Program> programs = compiler::harness::ProgramsOf(kernel);
    compiler::harness::Memory memory;
    std::vector<uint64_t> base;
    for (size_t i = 0; i < images.size(); ++i) {
      base.push_back(SegmentAddress(static_cast<unsigned>(i % 7), 4096 + (uint64_t{1} << 30) * i));
      memory.Add(base[i], images[i].size());
      std::memcpy(memory.At(base[i], images[i].size()), images[i].data(), images[i].size());
      for (Program& program : programs) program.address_table[8 * i] = base[i];
    }
    if (kernel.pool_bytes > 0) memory.Add(kProgramBase + kernel.pool_offset, kernel.pool_bytes);
    try {
      compiler::harness::RunInOrder(programs, memory, seed_);
    } catch (const std::exception& error) {
      FAIL() << "the program: " << error.what();
    }
    size_t output = 0;
    for (size_t i = 0; i < images.size(); ++i) {
      if (!result_.arguments[i].is_output) continue;
      const uint8_t* const begin = memory.At(base[i], images[i].size());
      ExpectSame(HostOf(i, {begin, begin + images[i].size()}), expected[output++],
                 result_.arguments[i].name + ": the program gives other bits than its SDSC files");
    }
  }

  static void ExpectSame(const HostData& got, const HostData& expected, const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    const auto [differs, other] = std::mismatch(got.begin(), got.end(), expected.begin());
    EXPECT_TRUE(differs == got.end())
        << what << "; of " << got.size() << " bytes, from byte " << differs - got.begin() << " on";
  }

  // The executed files, and the source of operations worked out in float64, beside the oracle.
  void Compare(const std::vector<HostData>& outputs) {
    const OpListOracle oracle(list_, inputs_, TilesOfReductions(result_.graph));
    cosim::ArgumentImages images;
    for (size_t i = 0; i < result_.arguments.size(); ++i) {
      const FrontEndArgument& argument = result_.arguments[i];
      if (argument.is_output) continue;
      images[static_cast<int>(i)] =
          cosim::ToDeviceImage(argument.layout, argument.host_format, DataOf(argument));
    }
    cosim::OpSpecReference source(result_.source, images, cosim::Rounding::kNone);
    EXPECT_FALSE(source.read_unwritten()) << "the source reads what nothing wrote";
    size_t output = 0;
    for (size_t i = 0; i < result_.arguments.size(); ++i) {
      const FrontEndArgument& argument = result_.arguments[i];
      if (!argument.is_output) continue;
      const compiler::NamedTensor& named = graph_.tensors[static_cast<size_t>(argument.tensor)];
      const OracleTensor& expected = oracle.At(argument.name);
      const HostData& data = outputs[output++];
      const Judgement judgement = Judge(graph_, named, expected, [&](int64_t at) {
        const DataFormat format = argument.host_format;
        return cosim::HostValue(format, cosim::HostBits(format, data.data(), at));
      });
      tally_.elements += judgement.elements;
      tally_.unknown += judgement.unknown;
      Count(judgement, "executed");
      const std::vector<int64_t> places = PlacesOf(argument.layout);
      Count(Judge(graph_, named, expected,
                  [&](int64_t at) {
                    return source.Value(static_cast<int>(i), places[static_cast<size_t>(at)],
                                        argument.layout.format,
                                        cosim::HostFormatOf(argument.host_format).bytes);
                  }),
            "the source in float64");
    }
  }

  // Bytes in the device image of the elements on the host, in order.
  static std::vector<int64_t> PlacesOf(const StickLayout& layout) {
    std::vector<int64_t> places = {0};
    for (const std::vector<int64_t>& offsets : cosim::HostOffsets(layout)) {
      std::vector<int64_t> next;
      for (const int64_t at : places)
        for (const int64_t offset : offsets) next.push_back(at + offset);
      places = std::move(next);
    }
    return places;
  }

  // Divides operations over the cores as no rule would; what is in LX would have to agree.
  void ForceSplits(std::vector<compiler::SpecNode>& nodes) {
    for (compiler::SpecNode& node : nodes) {
      if (auto* loop = std::get_if<compiler::LoopSpec>(&node)) ForceSplits(loop->body);
      auto* op = std::get_if<compiler::OpSpec>(&node);
      if (op == nullptr || Below(2) == 0) continue;
      forced_ = true;
      int cores = kMaxCores;
      op->core_slices.clear();
      for (compiler::IterationSymbol& symbol : op->iteration_space) {
        symbol.split = 1;
        std::vector<int> divisors;
        for (int d = 2; d <= cores; ++d)
          if (symbol.range % d == 0) divisors.push_back(d);
        if (divisors.empty() || Below(2) == 0) continue;
        symbol.split = divisors[Below(static_cast<uint32_t>(divisors.size()))];
        cores /= symbol.split;
      }
    }
  }

  static void Count(const Judgement& judgement, const char* of) {
    EXPECT_EQ(judgement.wrong, 0) << of << ", of " << judgement.elements << "; " << judgement.first;
  }

  uint32_t seed_;
  std::mt19937 random_;
  Tally& tally_;
  Json list_;
  std::string about_;
  NamedGraph graph_;
  FrontEndResult result_;
  OracleTensors inputs_;
  bool forced_ = false;  // splits are not those of a rule
  Json plan_;            // null: none
  bool always_;
};

using MakeList = std::function<Json(uint32_t seed)>;

// `most` lists, or as many as the environment's time allows.
Tally RunLists(uint32_t most, bool always_planned, const MakeList& make) {
  const uint32_t first =
      FromEnvironment("SPYRE_FUZZ_FIRST", FromEnvironment("SPYRE_FUZZ_SEED", 0) * 100'000);
  const std::chrono::seconds time(FromEnvironment("SPYRE_FUZZ_SECONDS", 0));
  const char* const file = std::getenv("SPYRE_FUZZ_LIST");
  const auto begin = std::chrono::steady_clock::now();
  Tally tally;
  for (uint32_t i = 0; i < most || std::chrono::steady_clock::now() - begin < time; ++i) {
    Json list = file == nullptr ? make(first + i) : JsonOf(ReadFile(file, "list"));
    Trial trial(first + i, std::move(list), always_planned, tally);
    trial.Run();
    if (!::testing::Test::HasFailure()) continue;
    ADD_FAILURE() << trial.Text();
    return tally;
  }
  for (const auto& [what, count] : tally.refusals)
    std::printf("  %5d refused: %s\n", count, what.c_str());
  std::printf(
      "  %d lists, %d refused, %d tiled, %d of them co-optimized, %d with "
      "tiled reductions, %d of forced splits, %lld of %lld elements compared\n",
      tally.lists, tally.refused, tally.hinted, tally.co_optimized, tally.tiled_reductions,
      tally.forced, static_cast<long long>(tally.elements - tally.unknown),
      static_cast<long long>(tally.elements));
  Print(tally.plans);
  EXPECT_LT(tally.refused, tally.lists / 2 * 3) << "most lists are to be run";
  EXPECT_GT(tally.elements, 2 * tally.unknown) << "most elements are to be compared";
  return tally;
}

TEST(OpListFuzz, EveryDialectAndTheProgramGiveTheValuesOfTheList) {
  const Tally tally = RunLists(60, false, [](uint32_t seed) { return RandomOpList(seed).Make(); });
  EXPECT_GT(tally.plans.planned, tally.lists / 10) << "many are to be compiled with a plan";
}

TEST(OpListFuzz, EveryPlanOfAChainGivesTheValuesOfTheList) {
  const Tally tally = RunLists(60, true, [](uint32_t seed) { return RandomChain(seed).Make(); });
  EXPECT_GT(tally.plans.planned, tally.lists / 2) << "most are to be compiled with a plan";
  EXPECT_GT(tally.co_optimized, 0) << "some are to get loops without a hint";
  EXPECT_GT(tally.plans.nested, 2) << "some are to have several inner loops in one outer";
}

TEST(OpListFuzz, ReductionsInTilesGiveTheValuesOfTheList) {
  const Tally tally =
      RunLists(60, false, [](uint32_t seed) { return RandomReductions(seed).Make(); });
  EXPECT_GT(tally.tiled_reductions, tally.lists / 8);
}

}  // namespace
}  // namespace spyre::fuzz::op_list_fuzz_test
