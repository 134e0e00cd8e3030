// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/collective_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "model/contract/formats.h"

namespace spyre::cosim {
namespace {

using runtime::Collective;
using runtime::CollectiveArea;
using runtime::CollectivePlan;
using runtime::CollectiveStep;

constexpr double kHalfStep = 1.0 / 1024;       // of SEN169_FP16, of the value: 9 fraction bits
constexpr double kHostStep = 1.0 / (1 << 25);  // half the smallest step of float16

uint16_t WordAt(const HostData& image, size_t word) {
  uint16_t value = 0;
  std::memcpy(&value, &image[word * sizeof(value)], sizeof(value));
  return value;
}
float ValueAt(const HostData& image, size_t word) { return DlfToFloat(WordAt(image, word)); }
uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// What the cards have after the steps.
class HostCollective {
 public:
  HostCollective(const CollectivePlan& plan, const std::vector<CollectiveImages>& cards) {
    for (const CollectiveImages& card : cards) {
      data_.push_back(card.before);
      result_.emplace_back(plan.result_bytes);
      inbox_.emplace_back(plan.inbox_bytes);
    }
    for (const auto& round : plan.rounds) Execute(round);
  }
  const HostData& data(size_t card) const { return data_[card]; }
  const HostData& result(size_t card) const { return result_[card]; }

 private:
  void Execute(const std::vector<CollectiveStep>& round) {
    std::vector<HostData> sent;
    for (const CollectiveStep& step : round) {
      const HostData& area = Area(step.from, step.source.area);
      const auto begin = area.begin() + static_cast<std::ptrdiff_t>(step.source.offset);
      sent.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(step.bytes));
    }
    for (size_t i = 0; i < round.size(); ++i) {
      const CollectiveStep& step = round[i];
      HostData& area = Area(step.to, step.target.area);
      std::memcpy(&area[step.target.offset], sent[i].data(), step.bytes);
      if (step.adds) Add(data_[step.to], step.sum, sent[i]);
    }
  }
  static void Add(HostData& data, uint64_t offset, const HostData& terms) {
    for (size_t byte = 0; byte < terms.size(); byte += sizeof(uint16_t)) {
      const size_t word = (offset + byte) / sizeof(uint16_t);
      const uint16_t sum =
          DlfFromFloat(ValueAt(data, word) + ValueAt(terms, byte / sizeof(uint16_t)));
      std::memcpy(&data[offset + byte], &sum, sizeof(sum));
    }
  }
  HostData& Area(size_t card, CollectiveArea area) {
    return area == CollectiveArea::kData     ? data_[card]
           : area == CollectiveArea::kResult ? result_[card]
                                             : inbox_[card];
  }

  std::vector<HostData> data_, result_, inbox_;
};

// Words that must be right.
struct Words {
  size_t begin = 0, end = 0;
};

class Judge {
 public:
  Judge(const CollectivePlan& plan, std::string tensor, const std::vector<CollectiveImages>& cards)
      : plan_(plan), tensor_(std::move(tensor)), cards_(cards), expected_(plan, cards) {
    result_.reference = "what the steps of the plan copy and add, and ";
    result_.reference +=
        runtime::Adds(plan.call.collective) ? "float64 sums" : "the bytes of the cards";
  }

  Verification Finish() {
    for (size_t card = 0; card < cards_.size(); ++card) {
      const std::string name = fmt::format("card{}/{}", card, tensor_);
      Compare(name, cards_[card].after, expected_.data(card));
      if (runtime::Adds(plan_.call.collective)) {
        JudgeSums(name, card);
      } else {
        Compare(name, cards_[card].after, cards_[SourceOf(card)].before);
      }
      JudgeBlocks(card);
    }
    if (largest_ > 0) result_.max_relative_error = result_.max_abs_error / largest_;
    return std::move(result_);
  }

 private:
  // Whose data a card has afterwards, if nothing is added.
  size_t SourceOf(size_t card) const {
    const bool gets = plan_.call.collective == Collective::kBroadcast ||
                      (plan_.call.collective == Collective::kSend && card == plan_.call.peer);
    return gets ? plan_.call.root : card;
  }

  // Where the data of a card must be the sum.
  Words SumOf(size_t card) const {
    const size_t all = cards_[card].after.size() / sizeof(uint16_t);
    if (plan_.call.collective == Collective::kReduce && card != plan_.call.root) return {};
    if (plan_.call.collective != Collective::kReduceScatter) return {0, all};
    const runtime::CollectiveChunk chunk = runtime::ChunkOf(plan_.call.bytes, cards_.size(), card);
    return {chunk.offset / sizeof(uint16_t), (chunk.offset + chunk.bytes) / sizeof(uint16_t)};
  }

  void JudgeBlocks(size_t card) {
    const bool gets = plan_.call.collective == Collective::kAllGather ||
                      (plan_.call.collective == Collective::kGather && card == plan_.call.root);
    if (!gets) return;
    for (size_t from = 0; from < cards_.size(); ++from) {
      if (from == card) continue;
      const auto begin =
          cards_[card].result.begin() + static_cast<std::ptrdiff_t>(from * plan_.call.bytes);
      const HostData block(begin, begin + static_cast<std::ptrdiff_t>(plan_.call.bytes));
      Compare(fmt::format("card{}/gathered from card{}", card, from), block, cards_[from].before);
    }
  }

  void Compare(const std::string& name, const HostData& got, const HostData& right) {
    for (size_t word = 0; word < right.size() / sizeof(uint16_t); ++word) {
      ++result_.elements;
      const uint16_t bits = WordAt(got, word), wanted = WordAt(right, word);
      if (bits == wanted) continue;
      ++result_.mismatches;
      if (result_.first.size() < kShownMismatches) {
        result_.first.push_back({static_cast<int64_t>(word), BitsOf(DlfToFloat(bits)),
                                 BitsOf(DlfToFloat(wanted)), name, DataFormat::kIeeeFp32});
      }
    }
  }

  void JudgeSums(const std::string& name, size_t card) {
    const Words words = SumOf(card);
    for (size_t word = words.begin; word < words.end; ++word) {
      double ideal = 0, magnitude = 0;
      for (const CollectiveImages& term : cards_) {
        const double value = static_cast<double>(ValueAt(term.before, word));
        ideal += value;
        magnitude += std::abs(value);
      }
      JudgeOne(name, static_cast<int64_t>(word),
               static_cast<double>(ValueAt(cards_[card].after, word)), ideal, magnitude);
    }
  }

  void JudgeOne(const std::string& name, int64_t element, double got, double ideal,
                double magnitude) {
    if (!std::isfinite(ideal)) {
      ++result_.unjudged;
      return;
    }
    largest_ = std::max(largest_, std::abs(ideal));
    if (!std::isfinite(got)) {
      ++result_.not_finite;
      return;
    }
    ++result_.error_elements;
    const double error = std::abs(got - ideal);
    const double limit = static_cast<double>(cards_.size() - 1) * kHalfStep * magnitude + kHostStep;
    result_.max_abs_error = std::max(result_.max_abs_error, error);
    const double ulp =
        std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(ideal), 1e-30)) - 9, -24));
    result_.max_ulp_error = std::max(result_.max_ulp_error, error / ulp);
    if (error > limit) ++result_.beyond;
    std::optional<Deviation>& worst = result_.worst;
    if (!worst || error * worst->limit > std::abs(worst->got - worst->expected) * limit)
      worst = Deviation{name, element, got, ideal, limit};
  }

  const CollectivePlan& plan_;
  const std::string tensor_;
  const std::vector<CollectiveImages>& cards_;
  const HostCollective expected_;
  Verification result_;
  double largest_ = 0;
};

}  // namespace

Verification VerifyCollective(const CollectivePlan& plan, const std::string& tensor,
                              const std::vector<CollectiveImages>& cards) {
  return Judge(plan, tensor, cards).Finish();
}

}  // namespace spyre::cosim
