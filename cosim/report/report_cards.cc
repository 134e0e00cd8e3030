// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/joined.h"
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

std::string Title(const runtime::CollectiveCall& call) {
  return fmt::format("{} by {}", runtime::Name(call.collective), runtime::Name(call.algorithm));
}

// "all_reduce by ring of 4 cards", "3 collectives of 4 cards (all_reduce by ring, barrier by tree)"
std::string Title(const RunResult& result) {
  std::vector<std::string> titles;
  for (const ListCollective& collective : result.list_collectives) {
    const std::string title = Title(collective.call);
    if (std::find(titles.begin(), titles.end(), title) == titles.end()) titles.push_back(title);
  }
  const size_t count = result.list_collectives.size(), cards = result.cards.size();
  if (count > 1)
    return fmt::format("{} collectives of {} cards ({})", count, cards, Joined(titles, ", "));
  return fmt::format("{} of {} cards", count == 1 ? titles[0] : Title(result.collective_call),
                     cards);
}

Json VerificationJson(const std::optional<Verification>& verification) {
  Json json = {{"verified", nullptr}};
  if (!verification) return json;
  json["verified"] = verification->passed();
  json["elements"] = verification->elements;
  json["mismatches"] = verification->mismatches;
  json["max_abs_error"] = verification->max_abs_error;
  json["max_ulp_error"] = verification->max_ulp_error;
  json["reference"] = verification->reference;
  return json;
}

Json CallJson(const runtime::CollectiveCall& call, size_t ranks) {
  return {{"operation", runtime::Name(call.collective)},
          {"algorithm", runtime::Name(call.algorithm)},
          {"ranks", ranks},
          {"root", call.root},
          {"peer", call.peer},
          {"bytes", call.bytes}};
}

// Of all collectives together.
std::string VerdictOfCollectives(const RunResult& result) {
  Verification all;
  bool is_verified = result.collective.has_value();
  if (is_verified) all = *result.collective;
  for (const ListCollective& collective : result.list_collectives) {
    if (!collective.verification) continue;
    is_verified = true;
    all.elements += collective.verification->elements;
    all.mismatches += collective.verification->mismatches;
    all.beyond += collective.verification->beyond;
    all.not_finite += collective.verification->not_finite;
  }
  if (!is_verified) return "";
  if (all.passed()) return fmt::format("; {} elements of all cards bit-exact", all.elements);
  return fmt::format("; WRONG: {} of {} elements", all.mismatches, all.elements);
}

std::string VerdictOf(const CardResult& card) {
  if (card.error) return "failed";
  if (!card.run.verification) return "not verified";
  return card.run.verification->passed() ? "verified" : "WRONG";
}

}  // namespace

uint64_t CollectivePs(const RunResult& result) {
  if (!result.list_collectives.empty()) {
    return std::accumulate(
        result.list_collectives.begin(), result.list_collectives.end(), uint64_t{0},
        [](uint64_t ps, const ListCollective& collective) { return ps + collective.Ps(); });
  }
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
      "the collective{}, {} of the time on {}: sending {}, adding {}, waiting {} (see what-if "
      "--resources)",
      result.list_collectives.size() > 1 ? "s" : "", share(slowest->collective_ps), slowest->name,
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
           {"time_ns", Ns(card.collective_ps)},
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
  Json json = CallJson(result.collective_call, result.cards.size());
  json["time_ns"] = Ns(CollectivePs(result));
  json["sent_bytes_per_ns"] = SentBytesPerNs(result);
  json.update(VerificationJson(result.collective));
  return json;
}

Json ListCollectivesJson(const RunResult& result) {
  Json collectives = Json::array();
  for (const ListCollective& collective : result.list_collectives) {
    Json json = {{"name", collective.name}};
    json.update(CallJson(collective.call, result.cards.size()));
    json["time_ns"] = Ns(collective.Ps());
    json.update(VerificationJson(collective.verification));
    for (const ListCollective::Part& part : collective.parts) {
      json["cards"].push_back({{"begin_ns", Ns(part.begin_ps)},
                               {"time_ns", Ns(part.end_ps - part.begin_ps)},
                               {"send_ns", Ns(part.times.send_ps)},
                               {"wait_ns", Ns(part.times.wait_ps)},
                               {"compute_ns", Ns(part.times.compute_ps)},
                               {"bytes_sent", part.times.bytes_sent},
                               {"steps", part.times.steps}});
    }
    collectives.push_back(std::move(json));
  }
  return collectives;
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
               text(card.run.launch_end_ps - card.run.launch_begin_ps), text(card.collective_ps),
               text(card.communication.send_ps), text(card.communication.wait_ps),
               text(card.communication.compute_ps),
               trace::FormatBytes(card.communication.bytes_sent)});
    if (card.error) errors += fmt::format("  {}\n", card.error->what());
  }
  std::string text = "Cards:\n" + table.ToString("  ", width) + errors;
  if (CollectivePs(result) == 0) return text;
  text += fmt::format("  {}: {}, {:.2f} GB/s from a card", Title(result),
                      trace::FormatTime(CollectivePs(result)), SentBytesPerNs(result));
  text += VerdictOfCollectives(result);
  return text + "\n";
}

}  // namespace spyre::cosim
