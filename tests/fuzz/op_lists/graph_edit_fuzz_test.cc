// SPDX-License-Identifier: Apache-2.0
// Graphs between two passes of the front end, edited at random as a person might edit the JSON that
// `opt` writes: a graph is refused, or its bundle gives the values that its list has in float64.
//
// SPYRE_FUZZ_SEED, SPYRE_FUZZ_FIRST, SPYRE_FUZZ_SECONDS: as in op_list_fuzz_test.cc.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "model/contract/formats.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/graph_form/graph_form.h"
#include "tests/fuzz/op_lists/graph_edit.h"
#include "tests/fuzz/op_lists/op_list_check.h"
#include "tests/fuzz/op_lists/random_chain.h"
#include "tests/fuzz/op_lists/random_op_list.h"

namespace spyre::fuzz::graph_edit_fuzz_test {
namespace {

using compiler::BundleDialect;
using compiler::GraphForm;
using cosim::HostData;

struct EditTally {
  int edits = 0, accepted = 0;
  std::map<std::string, int> refusals;
};

class EditTrial {
 public:
  EditTrial(uint32_t seed, EditTally& tally) : seed_(seed), random_(seed), tally_(tally) {}

  void Run() {
    list_ = seed_ % 2 == 0 ? RandomChain(seed_).Make() : RandomOpList(seed_).Make();
    if (seed_ % 4 == 0) list_["hints"] = {{{"slices", {{"A", 2}}}}};
    GraphForm form;
    try {
      form = compiler::GraphFormFromJson(list_);
      form.options.division.max_cores = Pick({1, 2, 4, 8, 32});
      form.options.lx.cores = form.options.division.max_cores;
      form.options.lx_planning = Below(8) != 0;
      if (Below(4) == 0) form.options.chunk_bytes = int64_t{1} << (11 + Below(6));
      compiler::RunPasses({"hints"}, form.options, form.graph);
      compiler::RunPasses({kStops[Below(std::size(kStops))]}, form.options, form.graph);
    } catch (const Error&) {
      return;  // a list that is refused: op_list_fuzz_test.cc looks at those
    }
    inputs_ = RandomInputs(form.graph.primitives, random_);
    const Json whole = compiler::ToJson(form.options, form.graph);
    for (int i = 0; i < 24 && !failed_; ++i) {
      Json edited = whole;
      edit_ = GraphEdit(random_()).Make(edited["graph"]);
      ++tally_.edits;
      Compile(edited);
    }
  }

  bool failed() const { return failed_; }
  std::string Text() const {
    return "seed " + std::to_string(seed_) + ": " + list_.dump() + "\nedit " + edit_;
  }

 private:
  static constexpr const char* kStops[] = {"propagate", "division", "lx", "lx"};

  uint32_t Below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
  int Pick(const std::vector<int>& from) { return from[Below(from.size())]; }

  void Compile(const Json& edited) {
    try {
      const GraphForm form = Finished(edited);
      const std::vector<HostData> outputs = Execute(form.graph);
      ++tally_.accepted;
      Compare(form.graph, outputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
      EXPECT_GT(std::string(error.what()).size(), 20u) << error.what();
      const auto* compile = dynamic_cast<const compiler::CompileError*>(&error);
      ++tally_.refusals[compile != nullptr ? compile->type() + " " + compile->message_kind()
                                           : "BadInput"];
    } catch (const std::exception& error) {
      failed_ = true;
      ADD_FAILURE() << "not refused by name: " << error.what();
    }
  }

  static GraphForm Finished(const Json& edited) {
    GraphForm form = compiler::GraphFormFromJson(edited);
    for (const char* pass : {"division", "lx", "kernel"})
      if (!form.graph.HasRun(pass)) compiler::RunPasses({pass}, form.options, form.graph);
    return form;
  }

  HostData DataOf(const compiler::FrontEndArgument& argument) const {
    std::vector<double> values = {argument.value};
    if (!argument.is_constant) {
      values.clear();
      for (const Bounded& element : inputs_.at(argument.name).data) values.push_back(element.value);
    }
    HostData data(values.size() * 2);
    for (size_t i = 0; i < values.size(); ++i)
      cosim::StoreHost(DataFormat::kIeeeFp16, values[i], data.data(), static_cast<int64_t>(i));
    return data;
  }

  // The outputs, in order.
  std::vector<HostData> Execute(const compiler::FrontEndResult& graph) const {
    compiler::Bundle bundle = compiler::EmitBundle(graph.source, BundleDialect::kSymbolicArguments);
    compiler::RefuseShortArguments(graph, bundle);
    compiler::BindSegments(bundle, graph.lx.pool_bytes > 0);
    std::vector<uint64_t> bytes;
    std::vector<int> tensors;
    for (const compiler::ArgumentUse& use : compiler::ArgumentUses(bundle)) {
      if (bundle.arguments[bytes.size()].kind == compiler::BundleArgument::Kind::kTensor)
        tensors.push_back(static_cast<int>(bytes.size()));
      bytes.push_back(AlignUp(use.bytes, kStickBytes));
    }
    cosim::BundleMemory memory(bytes, kMaxCores, compiler::ResidentLxBytes(bundle), false);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const compiler::FrontEndArgument& argument = graph.arguments.at(i);
      std::vector<uint8_t>& image = memory.image(tensors[i]);
      image.assign(static_cast<size_t>(argument.layout.DeviceBytes()), 0x5A);
      if (!argument.is_output)
        image = cosim::ToDeviceImage(argument.layout, DataFormat::kIeeeFp16, DataOf(argument));
    }
    cosim::RunBundleReference(bundle, {}, memory);
    std::vector<HostData> outputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const compiler::FrontEndArgument& argument = graph.arguments[i];
      if (argument.is_output)
        outputs.push_back(cosim::FromDeviceImage(argument.layout, DataFormat::kIeeeFp16,
                                                 memory.image(tensors[i])));
    }
    return outputs;
  }

  void Compare(const compiler::FrontEndResult& graph, const std::vector<HostData>& outputs) {
    const OpListOracle oracle(list_, inputs_);
    const compiler::NamedGraph& list = graph.primitives;
    size_t output = 0;
    for (const compiler::FrontEndArgument& argument : graph.arguments) {
      if (!argument.is_output) continue;
      ASSERT_LT(output, outputs.size());
      const HostData& data = outputs[output++];
      const Judgement judgement =
          Judge(list, list.tensors[static_cast<size_t>(argument.tensor)], oracle.At(argument.name),
                [&](int64_t at) {
                  return cosim::HostValue(DataFormat::kIeeeFp16,
                                          cosim::HostBits(DataFormat::kIeeeFp16, data.data(), at));
                });
      failed_ = failed_ || judgement.wrong != 0;
      EXPECT_EQ(judgement.wrong, 0) << "of " << judgement.elements << "; " << judgement.first;
    }
    EXPECT_EQ(output, list.outputs.size());
  }

  uint32_t seed_;
  std::mt19937 random_;
  EditTally& tally_;
  Json list_;
  std::string edit_;
  OracleTensors inputs_;
  bool failed_ = false;
};

TEST(GraphEditFuzz, AnEditedGraphIsRefusedOrGivesTheValuesOfItsList) {
  const uint32_t first =
      FromEnvironment("SPYRE_FUZZ_FIRST", FromEnvironment("SPYRE_FUZZ_SEED", 0) * 100'000);
  const std::chrono::seconds time(FromEnvironment("SPYRE_FUZZ_SECONDS", 0));
  const auto begin = std::chrono::steady_clock::now();
  EditTally tally;
  int failures = 0;
  for (uint32_t i = 0; i < 80 || std::chrono::steady_clock::now() - begin < time; ++i) {
    EditTrial trial(first + i, tally);
    trial.Run();
    if (trial.failed()) ADD_FAILURE() << trial.Text();
    if (trial.failed() && ++failures == 10) break;
  }
  for (const auto& [what, count] : tally.refusals)
    std::printf("  %5d refused: %s\n", count, what.c_str());
  std::printf("  %d edits, %d accepted\n", tally.edits, tally.accepted);
  EXPECT_GT(tally.edits, 500);
  EXPECT_GT(tally.accepted, tally.edits / 50) << "some edits are right";
}

}  // namespace
}  // namespace spyre::fuzz::graph_edit_fuzz_test
