// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_energy.h"
#include "runtime/collectives/plan.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

uint64_t BytesOf(const CardResult& card) { return card.communication.bytes_sent; }

// What the card that sent most sent in the collective's time.
double SentBytesPerNs(const RunResult& result) {
  const double ns = Ns(CollectivePs(result));
  uint64_t bytes = 0;
  for (const CardResult& card : result.cards) bytes = std::max(bytes, BytesOf(card));
  return ns == 0 ? 0 : static_cast<double>(bytes) / ns;
}

// "all_reduce by ring of 4 cards"
std::string Title(const RunResult& result) {
  const runtime::CollectiveCall& call = result.collective_call;
  return fmt::format("{} by {} of {} cards", runtime::Name(call.collective),
                     runtime::Name(call.algorithm), result.cards.size());
}

std::string VerdictOf(const CardResult& card) {
  if (card.error) return "failed";
  if (!card.run.verification) return "not verified";
  return card.run.verification->passed() ? "verified" : "WRONG";
}

}  // namespace

uint64_t CollectivePs(const RunResult& result) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const CardResult& card : result.cards) {
    begin = std::min(begin, card.collective_begin_ps);
    end = std::max(end, card.collective_end_ps);
  }
  return end == 0 ? 0 : end - begin;
}

uint64_t ProgramPs(const RunResult& result) {
  uint64_t end = result.launch_end_ps;
  for (const CardResult& card : result.cards) end = std::max(end, card.collective_end_ps);
  return end - result.launch_begin_ps;
}

std::string CollectiveBound(const RunResult& result) {
  const auto slowest = std::max_element(result.cards.begin(), result.cards.end(),
                                        [](const CardResult& one, const CardResult& other) {
                                          return one.collective_end_ps < other.collective_end_ps;
                                        });
  if (CollectivePs(result) == 0) return "";
  const auto share = [&](uint64_t ps) {
    return trace::FormatPercent(static_cast<double>(ps) / static_cast<double>(ProgramPs(result)));
  };
  const runtime::CollectiveTimes& times = slowest->communication;
  return fmt::format(
      "the collective, {} of the time on {}: sending {}, adding {}, waiting {} (see what-if "
      "--resources)",
      share(slowest->collective_end_ps - slowest->collective_begin_ps), slowest->name,
      share(times.send_ps), share(times.compute_ps), share(times.wait_ps));
}

Json CardsJson(const RunResult& result) {
  Json cards = Json::array();
  for (size_t i = 0; i < result.cards.size(); ++i) {
    const CardResult& card = result.cards[i];
    const RunResult& run = card.run;
    cards.push_back(
        {{"number", i},
         {"rank", i},
         {"error", card.error ? Json(card.error->what()) : Json(nullptr)},
         {"verified", run.verification ? Json(run.verification->passed()) : Json(nullptr)},
         {"begin_ns", Ns(run.begin_ps)},
         {"window_ns", Ns(run.end_ps - run.begin_ps)},
         {"launch_ns", Ns(run.launch_end_ps - run.launch_begin_ps)},
         {"communication",
          {{"begin_ns", Ns(card.collective_begin_ps)},
           {"time_ns", Ns(card.collective_end_ps - card.collective_begin_ps)},
           {"send_ns", Ns(card.communication.send_ps)},
           {"wait_ns", Ns(card.communication.wait_ps)},
           {"compute_ns", Ns(card.communication.compute_ps)},
           {"bytes_sent", card.communication.bytes_sent},
           {"peer_written_bytes", card.peer_written_bytes},
           {"steps", card.communication.steps}}},
         {"host", {{"busy_ns", Ns(card.host.busy_ps)}, {"waited_ns", Ns(card.host.waited_ps)}}},
         {"energy", CardEnergyJson(result, card)},
         {"directory", run.out_dir}});
  }
  return cards;
}

Json CollectiveJson(const RunResult& result) {
  if (result.config.cards.collective == runtime::Collective::kNone) return nullptr;
  Json json = {{"operation", runtime::Name(result.collective_call.collective)},
               {"algorithm", runtime::Name(result.collective_call.algorithm)},
               {"ranks", result.cards.size()},
               {"root", result.collective_call.root},
               {"peer", result.collective_call.peer},
               {"bytes", result.collective_call.bytes},
               {"time_ns", Ns(CollectivePs(result))},
               {"sent_bytes_per_ns", SentBytesPerNs(result)},
               {"verified", nullptr}};
  if (result.collective) {
    json["verified"] = result.collective->passed();
    json["elements"] = result.collective->elements;
    json["mismatches"] = result.collective->mismatches;
    json["max_abs_error"] = result.collective->max_abs_error;
    json["max_ulp_error"] = result.collective->max_ulp_error;
    json["reference"] = result.collective->reference;
  }
  return json;
}

std::string CollectiveTime(const RunResult& result) {
  if (CollectivePs(result) == 0) return "";
  return fmt::format("{} in {}", Title(result), trace::FormatTime(CollectivePs(result)));
}

std::string CardsTable(const RunResult& result, size_t width) {
  if (result.cards.empty()) return "";
  trace::Table table({"card", "result", "with transfers", "launches", "collective", "sending",
                      "waiting", "adding", "sent"});
  std::string errors;
  for (const CardResult& card : result.cards) {
    const auto text = [](uint64_t ps) {
      return ps == 0 ? std::string("-") : trace::FormatTime(ps);
    };
    table.Add({card.name, VerdictOf(card), text(card.run.end_ps - card.run.begin_ps),
               text(card.run.launch_end_ps - card.run.launch_begin_ps),
               text(card.collective_end_ps - card.collective_begin_ps),
               text(card.communication.send_ps), text(card.communication.wait_ps),
               text(card.communication.compute_ps),
               trace::FormatBytes(card.communication.bytes_sent)});
    if (card.error) errors += fmt::format("  {}\n", card.error->what());
  }
  std::string text = "Cards:\n" + table.ToString("  ", width) + errors;
  if (CollectivePs(result) == 0) return text;
  text += fmt::format("  {}: {}, {:.2f} GB/s from a card", Title(result),
                      trace::FormatTime(CollectivePs(result)), SentBytesPerNs(result));
  if (result.collective) {
    text += result.collective->passed()
                ? fmt::format("; {} elements of all cards bit-exact", result.collective->elements)
                : fmt::format("; WRONG: {} of {} elements", result.collective->mismatches,
                              result.collective->elements);
  }
  return text + "\n";
}

}  // namespace spyre::cosim
