// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/fault_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/joined.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "model/common/ring_links.h"
#include "model/fault/fault_kind.h"
#include "runtime/flex/stream_set.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;
using model::FaultKindInfo;
using model::FaultSpec;

constexpr double kMaxUs = 1e12;  // longer than any run
constexpr uint64_t kMaxCount = 1'000'000'000'000;

struct Key {
  const char* name;
  const char* allowed;
  const char* meaning;
};

constexpr Key kKeys[] = {
    {"kind", "`spyre-cosim faults` lists them", "What goes wrong"},
    {"where", "a table", "Only there; without it, anywhere. The kind says which keys it knows"},
    {"where.channel", "below card.memory.channels", "Of device memory"},
    {"where.bank", "below the banks of a channel", "Of device memory: one of a channel"},
    {"where.row", "below 2^32", "Of device memory: one of a bank"},
    {"where.core", "below card.cores", "Core whose unit it hits"},
    {"where.link", "cw00, ccw00, psum_cw00, psum_ccw00, ...",
     "Link of the ring: its sense, and the stop that it leads from; the stop behind the last core "
     "is the memory's"},
    {"where.function", "0 .. card.num_vfs", "Function whose work it hits: 0 the PF, n VF n"},
    {"where.stream", "0 .. 64", "Stream of the runtime whose work it hits"},
    {"where.operation", "0 .. 2^63 - 1", "Operation that it hits, by its correlation in the trace"},
    {"where.block", "control, management, pt", "RTL block; its card.BLOCK.fidelity is \"rtl\""},
    {"when", "a table", "Without it, at the first event there"},
    {"when.time_us", "0 .. 10^12",
     "Events from this simulated time on; of kinds that are a moment, that moment"},
    {"when.count", "1 .. 10^12", "Events from this one on, counted from 1"},
    {"when.probability", "0 .. 1", "Each of these events is hit with it"},
    {"when.seed", "0 .. 2^63 - 1", "Chooses which events, and which bit"},
    {"when.address", "an address",
     "Events that touch this byte: of device memory (physical), or of host memory (as the card "
     "sees it)"},
    {"times", "1 .. 10^12", "How often it hits at most; default 1"},
    {"lasts_us", "0 .. 10^12", "What it means and its default are the kind's"},
    {"percent", "1 .. 100", "Of full speed, of kinds that slow the cores down; default 50"},
};

class FaultReader {
 public:
  FaultReader(const Json& table, std::string place, const model::CardConfig& card)
      : table_(table), place_(std::move(place)), card_(card) {}

  FaultSpec Read() {
    const Json* const kind = Find(table_, "kind");
    if (kind == nullptr || !kind->is_string())
      throw Wrong("kind", "must be a text, the kind of fault", "`spyre-cosim faults` lists them");
    info_ = Kind(kind->get<std::string>());
    fault_.kind = info_->kind;
    CheckKeys(table_, "", {"kind", "where", "when", "times", "lasts_us", "percent"});
    if (const Json* where = SubTable("where")) ReadWhere(*where);
    if (const Json* when = SubTable("when")) ReadWhen(*when);
    Number(table_, "times", 1, kMaxCount, &fault_.times, !info_->is_moment());
    fault_.lasts_ps = info_->lasts_us * 1'000'000;
    Microseconds(table_, "lasts_us", &fault_.lasts_ps, info_->lasts != nullptr);
    Number(table_, "percent", 1, 100, &fault_.percent, info_->slows());
    CheckBlock();
    if (fault_.kind == model::FaultKind::kMemoryPoison && card_.memory.ecc == model::Ecc::kNone)
      throw Wrong("kind", "marks a word in its check bits, and card.memory.ecc = \"none\" has none",
                  "memory_double_bit, which turns the bits of the data over");
    return fault_;
  }

 private:
  Error Wrong(const std::string& key, const std::string& what, const std::string& remedy) const {
    const std::string kind = info_ == nullptr ? "" : fmt::format(" ({})", info_->name);
    return BadInput("{}: fault{}: {} {}; {}", place_, kind, key, what, remedy)
        .Subject("fault." + key)
        .Remedy(remedy);
  }

  const FaultKindInfo* Kind(const std::string& name) const {
    const std::vector<std::string> names = model::FaultKindNames();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      throw Wrong("kind", fmt::format("= \"{}\" is not known{}", name, DidYouMean(name, names)),
                  "`spyre-cosim faults` lists the kinds");
    }
    return &model::FaultKinds()[static_cast<size_t>(at - names.begin())];
  }

  static const Json* Find(const Json& table, const char* key) {
    const auto at = table.find(key);
    return at == table.end() ? nullptr : &*at;
  }
  void CheckKeys(const Json& table, const std::string& prefix,
                 const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      throw Wrong(prefix + key, "is not a key" + DidYouMean(key, known),
                  fmt::format("the keys are {}", Joined(known, ", ")));
    }
  }
  const Json* SubTable(const char* key) const {
    const Json* const table = Find(table_, key);
    if (table != nullptr && !table->is_object())
      throw Wrong(key, "must be a table, found " + table->dump(), "for example { core = 3 }");
    return table;
  }

  // False: the table does not have the key. Throws if the kind does not know it.
  bool Has(const Json& table, const std::string& key, bool known) const {
    const std::string name = key.substr(key.rfind('.') + 1);
    if (Find(table, name.c_str()) == nullptr) return false;
    if (!known) throw Wrong(key, "has no meaning for this kind", "leave it out");
    return true;
  }
  void Number(const Json& table, const std::string& key, uint64_t min, uint64_t max,
              uint64_t* value, bool known) const {
    if (!Has(table, key, known)) return;
    const Json& found = table[key.substr(key.rfind('.') + 1)];
    if (!found.is_number_integer() || found.get<int64_t>() < 0 || found.get<uint64_t>() < min ||
        found.get<uint64_t>() > max) {
      throw Wrong(key, fmt::format("= {} is not allowed", DumpJson(found)),
                  fmt::format("a whole number, {} .. {}", min, max));
    }
    *value = found.get<uint64_t>();
  }
  void Number(const Json& table, const std::string& key, uint64_t max,
              std::optional<uint64_t>* value, bool known) const {
    if (!Has(table, key, known)) return;
    uint64_t number = 0;
    Number(table, key, 0, max, &number, known);
    *value = number;
  }
  double Fraction(const Json& table, const std::string& key, double max) const {
    const Json& found = table[key.substr(key.rfind('.') + 1)];
    if (!found.is_number() || !(found.get<double>() >= 0 && found.get<double>() <= max)) {
      throw Wrong(key, fmt::format("= {} is not allowed", DumpJson(found)),
                  fmt::format("a number, 0 .. {:g}", max));
    }
    return found.get<double>();
  }
  void Microseconds(const Json& table, const std::string& key, uint64_t* ps, bool known) const {
    if (!Has(table, key, known)) return;
    *ps = static_cast<uint64_t>(std::llround(Fraction(table, key, kMaxUs) * 1e6));
  }

  void ReadWhere(const Json& where) {
    const auto knows = [this](const char* key) {
      return std::find(info_->where.begin(), info_->where.end(), key) != info_->where.end();
    };
    std::vector<std::string> all = {"channel",  "bank",   "row",       "core", "link",
                                    "function", "stream", "operation", "block"};
    CheckKeys(where, "where.", all);
    auto& at = fault_.where;
    Number(where, "where.channel", card_.memory.channels - 1, &at.channel, knows("channel"));
    const uint64_t banks = card_.memory.bank_groups * card_.memory.banks_per_group;
    Number(where, "where.bank", banks - 1, &at.bank, knows("bank"));
    Number(where, "where.row", UINT32_MAX, &at.row, knows("row"));
    Number(where, "where.core", card_.cores - 1, &at.core, knows("core"));
    Number(where, "where.function", card_.num_vfs, &at.function, knows("function"));
    Number(where, "where.stream", flex::kLastStream, &at.stream, knows("stream"));
    Number(where, "where.operation", INT64_MAX, &at.operation, knows("operation"));
    Name(where, "where.link", model::RingLinkNames(card_.cores), &at.link, knows("link"));
    Name(where, "where.block", {"control", "management", "pt"}, &at.block, knows("block"));
  }

  void Name(const Json& table, const std::string& key, const std::vector<std::string>& names,
            std::string* value, bool known) const {
    if (!Has(table, key, known)) return;
    const Json& found = table[key.substr(key.rfind('.') + 1)];
    const std::string name = found.is_string() ? found.get<std::string>() : "";
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Wrong(key, fmt::format("= {} is not there{}", DumpJson(found), DidYouMean(name, names)),
                  names.size() <= 3 ? fmt::format("one of {}", Joined(names, ", "))
                                    : fmt::format("{} to {} are, for example", names.front(),
                                                  names[card_.cores]));
    }
    *value = name;
  }

  void ReadWhen(const Json& when) {
    CheckKeys(when, "when.", {"time_us", "count", "probability", "seed", "address"});
    const bool events = !info_->is_moment();
    Microseconds(when, "when.time_us", &fault_.when.time_ps, true);
    Number(when, "when.count", 1, kMaxCount, &fault_.when.count, events);
    if (Has(when, "when.probability", events))
      fault_.when.probability = Fraction(when, "when.probability", 1);
    Number(when, "when.seed", 0, INT64_MAX, &fault_.when.seed, info_->has_seed());
    const bool memory = info_->site == model::FaultSite::kMemory;
    Number(when, "when.address", memory ? card_.usable_bytes() - 1 : INT64_MAX,
           &fault_.where.address, info_->by_address);
  }

  void CheckBlock() const {
    if (info_->kind != model::FaultKind::kRtlBitFlip) return;
    const std::string& block = fault_.where.block;
    if (block.empty()) throw Wrong("where.block", "is missing", "one of control, management, pt");
    const bool rtl = block == "control" ? card_.control.fidelity == model::BlockFidelity::kRtl
                     : block == "management"
                         ? card_.management.fidelity == model::ManagementFidelity::kRtl
                         : card_.pt.fidelity == model::BlockFidelity::kRtl;
    if (!rtl) {
      throw Wrong("where.block", fmt::format("= \"{}\": that block of this card is not RTL", block),
                  fmt::format("set card.{}.fidelity = \"rtl\"", block));
    }
  }

  const Json& table_;
  const std::string place_;
  const model::CardConfig& card_;
  const FaultKindInfo* info_ = nullptr;
  FaultSpec fault_;
};

}  // namespace

std::vector<model::FaultSpec> ReadFaults(const TableList& tables, const model::CardConfig& card) {
  std::vector<model::FaultSpec> faults;
  if (tables.json.empty()) return faults;
  const Json json = JsonOf(tables.json);
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string place =
        i < tables.places.size() ? tables.places[i] : fmt::format("[[fault]] {}", i + 1);
    faults.push_back(FaultReader(json[i], place, card).Read());
  }
  return faults;
}

std::string FaultReference() {
  std::string text =
      "\n## [[fault]]\n\n"
      "Faults of the card, a table for each ([faults](faults.md)). With none, nothing fails.\n\n"
      "| Key | Allowed | Meaning |\n|---|---|---|\n";
  for (const Key& key : kKeys)
    text += fmt::format("| `{}` | {} | {} |\n", key.name, key.allowed, key.meaning);
  return text;
}

}  // namespace spyre::cosim
