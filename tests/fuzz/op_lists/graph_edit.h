// SPDX-License-Identifier: Apache-2.0
// One random edit of the lowered part of a graph's JSON: a number, a flag or a word changes, or an
// entry of a list is dropped, doubled or trades places with another; or an operation is divided
// otherwise, or comes elsewhere in the order; or a buffer is moved.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace spyre::fuzz {

class GraphEdit {
 public:
  using Json = nlohmann::ordered_json;

  explicit GraphEdit(uint32_t seed) : random_(seed) {}

  // Says what it did.
  std::string Make(Json& graph) {
    const size_t kind = Below(5);
    if (kind == 0 && !graph["operations"].empty()) return Divide(Pick(graph["operations"]));
    if (kind == 1 && graph.contains("buffers")) return Move(graph["buffers"]);
    if (kind == 2 && graph["operations"].size() > 1) return Reorder(graph["operations"]);
    return Leaf(graph);
  }

 private:
  struct Place {
    std::string path;
    Json* value;
  };

  size_t Below(size_t limit) { return random_() % limit; }
  Json& Pick(Json& list) { return list[Below(list.size())]; }

  // Another division, with the number of cores that it makes.
  std::string Divide(Json& op) {
    if (!op.contains("splits")) {
      op["splits"] = Json::array();
      for (size_t i = 0; i < op["ranges"].size(); ++i) op["splits"].push_back(1);
    }
    int64_t cores = 1;
    for (Json& split : op["splits"]) {
      split = int64_t{1} << Below(4);
      cores *= split.get<int64_t>();
    }
    op["cores"] = cores;
    return op["name"].dump() + " divided by " + op["splits"].dump();
  }

  // An operation to another place in the order.
  static std::string Reorder(Json& operations, size_t from, size_t to) {
    const Json moved = operations[from];
    operations.erase(from);
    operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(to), moved);
    return moved["name"].dump() + " from place " + std::to_string(from) + " to " +
           std::to_string(to);
  }
  std::string Reorder(Json& operations) {
    const size_t from = Below(operations.size());
    return Reorder(operations, from, Below(operations.size()));
  }

  // A buffer to the place of another one, or near it, in LX or pool.
  std::string Move(Json& buffers) {
    Json& one = Pick(buffers);
    const Json other = Pick(buffers);
    const std::string before = one.dump();
    one.erase("lx");
    one.erase("pool");
    const char* const to = Below(3) == 0 ? "pool" : "lx";
    const int64_t at = other.contains(to) ? other[to].get<int64_t>() : 0;
    one[to] = at + 128 * static_cast<int64_t>(Below(3));
    return before + " -> " + one.dump();
  }

  std::string Leaf(Json& graph) {
    std::vector<Place> places;
    Collect(graph, "graph", places);
    const Place& place = places[Below(places.size())];
    const std::string before = place.value->dump();
    if (place.value->is_array()) {
      EditList(*place.value);
    } else if (place.value->is_number()) {
      EditNumber(*place.value);
    } else if (place.value->is_boolean()) {
      *place.value = !place.value->get<bool>();
    } else {
      EditWord(*place.value, places);
    }
    return place.path + ": " + before.substr(0, 200) + " -> " + place.value->dump().substr(0, 200);
  }

  static void Collect(Json& value, const std::string& path, std::vector<Place>& places) {
    if (value.is_object()) {
      for (auto& [key, entry] : value.items()) Collect(entry, path + "." + key, places);
      return;
    }
    places.push_back({path, &value});
    if (!value.is_array()) return;
    for (size_t i = 0; i < value.size(); ++i)
      Collect(value[i], path + "[" + std::to_string(i) + "]", places);
  }

  void EditList(Json& list) {
    if (list.empty()) {
      list.push_back(0);
      return;
    }
    const size_t at = Below(list.size());
    switch (Below(3)) {
      case 0:
        list.erase(at);
        break;
      case 1: {
        const Json copy = list[at];
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(Below(list.size() + 1)), copy);
        break;
      }
      default:
        std::swap(list[at], list[Below(list.size())]);
    }
  }

  void EditNumber(Json& number) {
    if (number.is_number_float()) {
      number = number.get<double>() * 2;
      return;
    }
    const auto old = number.get<int64_t>();
    const int64_t choices[] = {old + 1, old - 1,          old * 2,   old / 2,   0,         1,
                               -1,      int64_t{1} << 40, INT64_MAX, old + 128, old - 128, 64};
    number = choices[Below(std::size(choices))];
  }

  void EditWord(Json& word, const std::vector<Place>& places) {
    std::vector<const Json*> words;
    for (const Place& place : places)
      if (place.value->is_string()) words.push_back(place.value);
    const Json other = *words[Below(words.size())];
    word = Below(8) == 0 ? Json("nothing") : other;
  }

  std::mt19937 random_;
};

}  // namespace spyre::fuzz
