// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/op_list_loops.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostIterations = 1 << 16;
constexpr size_t kMostEntries = 1 << 20;
constexpr int kMaxNesting = 8;
constexpr int64_t kMostIndex = int64_t{1} << 40;

// A number at the begin of `text`, which it leaves behind.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || value > kMostIndex) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// What "*64+5" makes of the index; nothing if it is not of that form.
std::optional<int64_t> Apply(std::string_view formula, int64_t index) {
  if (!formula.empty() && formula.front() == '*') {
    formula.remove_prefix(1);
    const std::optional<int64_t> factor = TakeNumber(formula);
    if (!factor) return std::nullopt;
    index *= *factor;
  }
  if (formula.empty()) return index;
  const char sign = formula.front();
  if (sign != '+' && sign != '-') return std::nullopt;
  formula.remove_prefix(1);
  const std::optional<int64_t> offset = TakeNumber(formula);
  if (!offset || !formula.empty()) return std::nullopt;
  return sign == '+' ? index + *offset : index - *offset;
}

bool IsNumberKey(const std::string& key) { return key == "stream" || key == "priority"; }

Json WithIndex(const Json& value, const std::string& loop, int64_t index) {
  if (value.is_string()) return WithLoopIndex(value.get<std::string>(), loop, index);
  if (value.is_array()) {
    Json result = Json::array();
    for (const Json& element : value) result.push_back(WithIndex(element, loop, index));
    return result;
  }
  if (!value.is_object()) return value;
  Json result = Json::object();
  for (const auto& [key, element] : value.items()) {
    Json& written = result[key] = WithIndex(element, loop, index);
    if (!IsNumberKey(key) || !written.is_string()) continue;
    const std::string text = written.get<std::string>();
    std::string_view rest = text;
    const std::optional<int64_t> number = TakeNumber(rest);
    if (number && rest.empty()) written = *number;
  }
  return result;
}

class Expander {
 public:
  // what: "ops" or "tensors", the key of entries in the list and in its loops.
  Expander(std::string what, const Json& dims) : what_(std::move(what)), dims_(dims) {}

  void Expand(Json& list) {
    const auto entries = list.find(what_);
    if (entries == list.end() || !entries->is_array())
      return;  // the reader of the list will say so
    if (!HasLoop(*entries)) return;
    Json written = Json::array();
    ExpandAll(*entries, what_, 0, written, {});
    *entries = std::move(written);
  }

 private:
  static bool IsLoop(const Json& entry) {
    return entry.is_object() && (entry.contains("for_each") || entry.contains("sequential"));
  }
  static bool HasLoop(const Json& entries) { return AnyFits(entries, IsLoop); }

  // after: outputs that each of the entries comes after. Returns the entries' own.
  std::vector<std::string> ExpandAll(const Json& entries, const std::string& where, int depth,
                                     Json& written, const std::vector<std::string>& after) {
    std::vector<std::string> outputs;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Json& entry = entries[i];
      if (IsLoop(entry)) {
        const auto inner =
            ExpandLoop(entry, where + '[' + std::to_string(i) + ']', depth, written, after);
        outputs.insert(outputs.end(), inner.begin(), inner.end());
        continue;
      }
      if (written.size() >= kMostEntries)
        throw BadInput("{}: the loops make more than {} entries", where, kMostEntries);
      written.push_back(entry);
      if (!entry.is_object()) continue;
      for (const std::string& name : after) written.back()["after"].push_back(name);
      const auto output = entry.find("output");
      if (output != entry.end() && output->is_string()) outputs.push_back(*output);
    }
    return outputs;
  }

  std::vector<std::string> ExpandLoop(const Json& loop, const std::string& where, int depth,
                                      Json& written, const std::vector<std::string>& outer) {
    if (depth >= kMaxNesting) throw BadInput("{}: more than {} loops in each other", where, depth);
    const bool sequential = loop.contains("sequential");
    const char* const kind = sequential ? "sequential" : "for_each";
    for (const auto& [key, value] : loop.items()) {
      if (key != kind && key != "count" && key != "from" && key != what_) {
        throw BadInput("{}: a loop has the keys {}, count, from and {}, and no '{}'", where, kind,
                       what_, key);
      }
    }
    if (sequential && what_ != "ops") throw BadInput("{}: only operations are sequential", where);
    if (!loop[kind].is_string() || loop[kind].get<std::string>().empty())
      throw BadInput("{}.{} must be the name of the index", where, kind);
    const std::string index = loop[kind];
    if (!loop.contains(what_) || !loop[what_].is_array())
      throw BadInput("{}.{} must be a list", where, what_);
    const int64_t count = NumberOf(loop, "count", where, 1);
    const int64_t from = loop.contains("from") ? NumberOf(loop, "from", where, 0) : 0;
    std::vector<std::string> all, before = outer;
    for (int64_t i = from; i < from + count; ++i) {
      const Json body = WithIndex(loop[what_], index, i);
      const auto made = ExpandAll(body, where + '.' + what_, depth + 1, written, before);
      all.insert(all.end(), made.begin(), made.end());
      if (!sequential) continue;
      before = outer;
      before.insert(before.end(), made.begin(), made.end());
    }
    return all;
  }

  int64_t NumberOf(const Json& loop, const char* key, const std::string& where,
                   int64_t least) const {
    const auto value = loop.find(key);
    if (value == loop.end()) throw BadInput("{}.{} is missing", where, key);
    Json number = *value;
    if (number.is_string()) {
      const auto dim = dims_.find(number.get<std::string>());
      if (dim == dims_.end())
        throw BadInput("{}.{} = {} is not a dimension of the list", where, key, DumpJson(number));
      number = *dim;
    }
    if (!number.is_number_integer() || number.get<int64_t>() < least ||
        number.get<int64_t>() > kMostIterations) {
      throw BadInput("{}.{} = {} must be a number from {} to {}, or a dimension", where, key,
                     DumpJson(number), least, kMostIterations);
    }
    return number.get<int64_t>();
  }

  const std::string what_;
  const Json& dims_;
};

// Sends and receives of one channel, in order of the list.
struct Channel {
  std::optional<size_t> room;
  std::vector<std::string> sent, received;  // outputs of the operations
};

// Takes the key out of an operation; the name that it has.
std::optional<std::string> TakeChannel(Json& op, const char* key, size_t index) {
  const auto found = op.find(key);
  if (found == op.end()) return std::nullopt;
  if (!found->is_string() || found->get<std::string>().empty())
    throw BadInput("ops[{}].{} = {} must be the name of a channel", index, key, found->dump());
  std::string name = *found;
  op.erase(found);
  return name;
}

void ConnectChannels(Json& list) {
  std::map<std::string, Channel> channels;
  const auto bounds = list.find("channels");
  if (bounds != list.end()) {
    if (!bounds->is_object()) throw BadInput("channels must be a table of numbers by name");
    for (const auto& [name, room] : bounds->items()) {
      if (!room.is_number_integer() || room.get<int64_t>() < 1)
        throw BadInput("channels.{} = {} must be at least 1", name, DumpJson(room));
      channels[name].room = room.get<size_t>();
    }
    list.erase(bounds);
  }
  const auto ops = list.find("ops");
  if (ops == list.end() || !ops->is_array()) return;
  for (size_t i = 0; i < ops->size(); ++i) {
    Json& op = (*ops)[i];
    if (!op.is_object()) continue;
    const std::optional<std::string> receives = TakeChannel(op, "receive", i);
    const std::optional<std::string> sends = TakeChannel(op, "send", i);
    if (!receives && !sends) continue;
    const auto output = op.find("output");
    const std::string name =
        output != op.end() && output->is_string() ? output->get<std::string>() : "";
    if (receives) {
      Channel& channel = channels[*receives];
      if (channel.sent.size() <= channel.received.size()) {
        throw BadInput(
            "ops[{}].receive: the channel '{}' has been sent {} times before, and this "
            "is receive {}",
            i, *receives, channel.sent.size(), channel.received.size() + 1);
      }
      op["after"].push_back(channel.sent[channel.received.size()]);
      channel.received.push_back(name);
    }
    if (sends) {
      Channel& channel = channels[*sends];
      if (channel.room && channel.sent.size() >= *channel.room) {
        const size_t receive = channel.sent.size() - *channel.room;
        if (receive >= channel.received.size()) {
          throw BadInput(
              "ops[{}].send: the channel '{}' has room for {}, and only {} of {} have "
              "been received before",
              i, *sends, *channel.room, channel.received.size(), channel.sent.size());
        }
        op["after"].push_back(channel.received[receive]);
      }
      channel.sent.push_back(name);
    }
  }
  for (const auto& [name, channel] : channels) {
    if (channel.sent.empty()) throw BadInput("channels.{}: no operation sends to it", name);
  }
}

}  // namespace

std::string WithLoopIndex(std::string_view text, std::string_view loop, int64_t index) {
  std::string result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    std::optional<int64_t> value;
    if (inside.substr(0, loop.size()) == loop) value = Apply(inside.substr(loop.size()), index);
    result += text.substr(0, value ? open : close + 1);
    if (value) result += std::to_string(*value);
    text.remove_prefix(close + 1);
  }
  return result.append(text);
}

void ExpandOpList(nlohmann::ordered_json& list) {
  const Json dims =
      list.contains("dims") && list["dims"].is_object() ? list["dims"] : Json::object();
  Expander("tensors", dims).Expand(list);
  Expander("ops", dims).Expand(list);
  ConnectChannels(list);
}

}  // namespace spyre::cosim
