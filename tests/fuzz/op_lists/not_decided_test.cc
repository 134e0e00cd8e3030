// SPDX-License-Identifier: Apache-2.0
// What the verification of lists says of random lists on a card that rounds every result once, and
// so decides comparisons of nearly equal numbers as the roundings fall: right results are right, of
// at most one element in a hundred it says that it cannot decide, and one element that is wrong is
// wrong, also in lists with comparisons and selects.
//
// SPYRE_FUZZ_SEED, SPYRE_FUZZ_FIRST, SPYRE_FUZZ_SECONDS: as in op_list_fuzz_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/decisions.h"
#include "cosim/verify/op_list_verify.h"
#include "runtime/compiler/list/named_graph.h"
#include "runtime/compiler/ops/op_entries.h"
#include "tests/fuzz/op_lists/op_list_check.h"
#include "tests/fuzz/op_lists/random_op_list.h"
#include "tests/fuzz/op_lists/random_reductions.h"

namespace spyre::fuzz::not_decided_test {
namespace {

using compiler::NamedGraph;
using compiler::NamedTensor;
using cosim::DoubleTensor;
using cosim::HostData;

bool Compares(const compiler::NamedOp& op) {
  const compiler::OpEntry* const entry = compiler::FindNamedOperation(op.op);
  return entry != nullptr && entry->Compares();
}

std::string Worst(const cosim::Verification& result) {
  if (!result.worst) return "";
  return fmt::format("'{}', element {}: {} instead of {} +- {}", result.worst->tensor,
                     result.worst->element, result.worst->got, result.worst->expected,
                     result.worst->limit);
}

struct Share {
  int lists = 0;
  int64_t elements = 0, undecided = 0;

  double percent() const {
    return 100.0 * static_cast<double>(undecided) / static_cast<double>(elements);
  }
};

// A list, its inputs, and its outputs as the card may give them.
class ListOnCard {
 public:
  ListOnCard(NamedGraph graph, std::mt19937& random) : graph_(std::move(graph)) {
    const OracleTensors inputs = RandomInputs(graph_, random);
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const NamedTensor& named = graph_.tensors[i];
      const auto position = static_cast<int>(i);
      const bool is_output = IsOutput(position);
      if (named.origin != NamedTensor::Origin::kInput && !is_output) continue;
      cosim::WorkloadTensor tensor;
      tensor.name = named.name;
      tensor.is_input = !is_output;
      tensor.is_output = is_output;
      tensor.shape = graph_.Shape(named);
      tensor.host_format = named.format;
      tensors_.push_back(tensor);
      positions_.push_back(position);
      if (is_output) continue;
      for (const Bounded& element : inputs.at(named.name).data)
        values_[position].push_back(element.value);
    }
    const auto card = cosim::EvaluateGraph(graph_, values_, cosim::Rounding::kEveryResult);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const DoubleTensor& values =
          tensors_[i].is_output ? card.at(positions_[i]) : values_.at(positions_[i]);
      const auto bytes = static_cast<size_t>(cosim::HostFormatOf(tensors_[i].host_format).bytes);
      data_.emplace_back(values.size() * bytes);
      for (size_t at = 0; at < values.size(); ++at)
        cosim::StoreHost(tensors_[i].host_format, values[at], data_.back().data(),
                         static_cast<int64_t>(at));
    }
  }

  // It compares, or selects.
  bool Decides() const {
    return AnyFits(graph_.ops,
                   [](const compiler::NamedOp& op) { return op.op == "where" || Compares(op); });
  }

  cosim::Verification Verify(const std::vector<HostData>& outputs) const {
    cosim::Verification result;
    result.elements = 1;  // equal bit by bit
    cosim::MeasureAgainstOperations(graph_, tensors_, data_, outputs, {}, result);
    return result;
  }
  cosim::Verification Verify() const { return Verify(data_); }

  // One wrong element of each output in turn must be found, if it is decided: it is far from all
  // that the output has, or of a comparison's result the other of 0 and 1.
  void ExpectEveryPlantIsFound(std::mt19937& random) const {
    const cosim::GraphSides sides = cosim::EvaluateSides(graph_, values_, true);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].is_output) continue;
      const DoubleTensor& ideal = sides.ideal.at(positions_[i]);
      const size_t at = random() % ideal.size();
      double largest = 1;
      for (const double value : ideal)
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
      if (!std::isfinite(ideal[at]) || largest > 1000) continue;  // float16 has nothing far from it
      if (!sides.others.empty()) {
        const cosim::OtherDecisions& others = sides.others.at(positions_[i]);
        if (others.low[at] != others.high[at]) continue;  // not decided
      }
      std::vector<double> plants = {16 * largest, -16 * largest};
      if (IsComparison(positions_[i])) plants.push_back(1 - ideal[at]);
      for (const double plant : plants) {
        std::vector<HostData> outputs = data_;
        cosim::StoreHost(tensors_[i].host_format, plant, outputs[i].data(),
                         static_cast<int64_t>(at));
        EXPECT_GT(Verify(outputs).beyond, 0)
            << plant << " as element " << at << " of '" << tensors_[i].name << "', which is "
            << ideal[at] << ", is not found";
      }
    }
  }

 private:
  bool IsOutput(int position) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), position) !=
           graph_.outputs.end();
  }
  bool IsComparison(int position) const {
    return AnyFits(graph_.ops, [&](const compiler::NamedOp& op) {
      return op.output == position && Compares(op);
    });
  }

  NamedGraph graph_;
  std::vector<cosim::WorkloadTensor> tensors_;
  std::vector<int> positions_;  // of these, in the graph
  std::map<int, DoubleTensor> values_;
  std::vector<HostData> data_;
};

TEST(RandomLists, AreVerifiedButForOneElementInAHundredAndWhatIsWrongIsFound) {
  constexpr uint32_t kLists = 500;
  const uint32_t first =
      FromEnvironment("SPYRE_FUZZ_FIRST", FromEnvironment("SPYRE_FUZZ_SEED", 0) * 100'000);
  const std::chrono::seconds time(FromEnvironment("SPYRE_FUZZ_SECONDS", 0));
  const auto begin = std::chrono::steady_clock::now();
  Share all, deciding;
  for (uint32_t seed = first;
       seed < first + kLists || std::chrono::steady_clock::now() - begin < time; ++seed) {
    const Json list = seed % 4 == 0 ? RandomReductions(seed).Make() : RandomOpList(seed).Make();
    std::mt19937 random(seed);
    std::optional<ListOnCard> run;
    try {
      run.emplace(compiler::ReadNamedGraph(list), random);
    } catch (const Error&) {
      continue;  // op_list_fuzz_test.cc looks at what is refused
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + list.dump());
    const cosim::Verification result = run->Verify();
    // What is beyond float16 on the card is not right.
    EXPECT_EQ(result.beyond, 0) << "right results are called wrong: " << Worst(result);
    for (Share* share : {&all, &deciding}) {
      if (share == &deciding && !run->Decides()) continue;
      ++share->lists;
      share->elements += result.error_elements;
      share->undecided += result.undecided;
    }
    if (100 * result.undecided > result.error_elements)
      std::printf("  seed %u: %lld of %lld elements not decided\n", seed,
                  static_cast<long long>(result.undecided),
                  static_cast<long long>(result.error_elements));
    run->ExpectEveryPlantIsFound(random);
  }
  for (const auto& [what, share] : {std::pair{"lists", all}, {"lists that decide", deciding}}) {
    std::printf("  %d %s: %lld of %lld elements not decided, %.3f %%\n", share.lists, what,
                static_cast<long long>(share.undecided), static_cast<long long>(share.elements),
                share.percent());
  }
  EXPECT_GT(deciding.lists, all.lists / 10);
  EXPECT_LE(all.percent(), 1);
}

}  // namespace
}  // namespace spyre::fuzz::not_decided_test
