// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/cards.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace spyre::cosim {

void DescribeCards(FieldCollector& f, CardsConfig& cards) {
  f.SetPrefix("cards");
  f.Number("count", cards.count, 1, kMaxCards, "cards",
           "Cards behind one PCIe switch, all as [card] says, each with the workload on inputs of "
           "its own (workload.seed + its number). [[card]] tables with number = 0, 1, ... say the "
           "same (docs/multi-card.md)");
  f.Choice("collective", cards.collective, runtime::CollectiveNames(),
           "What the cards do together with the output of each, by copies from card to card and "
           "additions on the cards (docs/multi-card.md). all_reduce: every card gets the sum");
  f.Choice("algorithm", cards.algorithm, runtime::CollectiveAlgorithmNames(),
           "Who sends what to whom in a collective. auto: chosen by size and number of cards "
           "(docs/multi-card.md)");
  f.Number("root", cards.root, 0, kMaxCards - 1, "card",
           "The card that gets (reduce, gather) or gives (broadcast, send)");
  f.Number("peer", cards.peer, 0, kMaxCards - 1, "card", "The card that gets what root sends");
  f.Parameters(model::ParametersOf(cards.pcie_switch));
}

std::optional<uint64_t> NumberedCards(toml::table& document, const std::string& name) {
  toml::array* const cards = document["card"].as_array();
  if (cards == nullptr || !cards->is_array_of_tables()) return std::nullopt;
  for (size_t i = 0; i < cards->size(); ++i) {
    const toml::table& card = *cards->get(i)->as_table();
    const std::optional<int64_t> number = card["number"].value<int64_t>();
    const std::string where = fmt::format("{}:{}", name, card.source().begin.line);
    if (!number || *number != static_cast<int64_t>(i)) {
      throw BadInput(
          "{}: [[card]]: number {}; cards are numbered 0, 1, 2, ... in the order of the file, and "
          "this one is {}",
          where, number ? fmt::format("= {}", *number) : "is missing", i)
          .Subject("card.number")
          .Remedy(fmt::format("{}", i));
    }
    for (const auto& [key, value] : card) {
      if (i == 0 || key.str() == "number") continue;
      throw BadInput(
          "{}: [[card]] number = {}: key '{}': all cards are alike, and the keys of card 0 say how",
          where, i, key.str())
          .Subject("card." + std::string(key.str()));
    }
  }
  const uint64_t count = cards->size();
  toml::table first = std::move(*cards->get(0)->as_table());
  first.erase("number");
  document.insert_or_assign("card", std::move(first));
  return count;
}

void CheckCards(const RunConfig& config) {
  const CardsConfig& cards = config.cards;
  if ((cards.pcie_switch.lanes & (cards.pcie_switch.lanes - 1)) != 0) {
    throw BadInput("switch.lanes = {} must be a power of two", cards.pcie_switch.lanes)
        .Subject("switch.lanes");
  }
  if (cards.count == 1) {
    if (cards.collective == runtime::Collective::kNone) return;
    throw BadInput("cards.collective is for several cards, and cards.count is 1")
        .Subject("cards.collective");
  }
  const bool sends = cards.collective == runtime::Collective::kSend;
  if (cards.root >= cards.count || (sends && cards.peer >= cards.count)) {
    const bool root = cards.root >= cards.count;
    throw BadInput("cards.{} = {}: there are {} cards, numbered from 0", root ? "root" : "peer",
                   root ? cards.root : cards.peer, cards.count)
        .Subject(root ? "cards.root" : "cards.peer");
  }
  if (sends && cards.peer == cards.root) {
    throw BadInput("cards.peer = {} is cards.root: a card sends to another one", cards.peer)
        .Subject("cards.peer");
  }
  if (!config.tenants.list.json.empty()) {
    throw BadInput("there are {} cards and tenants ([[tenant]]): tenants share one card",
                   cards.count)
        .Subject("cards.count");
  }
  if (config.mode == FunctionMode::kVirtual) {
    throw BadInput(
        "card.mode = \"vf\" with {} cards: each of several cards is opened by its physical "
        "function, whose memory window the other cards reach; card.mode must be \"pf\"",
        cards.count)
        .Subject("card.mode")
        .Value("vf")
        .Remedy("pf");
  }
}

}  // namespace spyre::cosim
