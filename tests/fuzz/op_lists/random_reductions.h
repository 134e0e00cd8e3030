// SPDX-License-Identifier: Apache-2.0
// Random lists whose reductions stand under hints that divide what they reduce, with operations
// before, beside and behind them. In the JSON that users write.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace spyre::fuzz {

class RandomReductions {
 public:
  using Json = nlohmann::ordered_json;

  explicit RandomReductions(uint32_t seed) : random_(seed) {}

  Json Make() {
    Json list = Json::object();
    list["dims"] = {{"A", Pick({4, 6, 16, 64})}, {"K", Pick({128, 192, 256})}, {"N", 64}};
    list["tensors"] = {{{"name", "x"}, {"dims", {"A", "K"}}},
                       {{"name", "w"}, {"dims", {"K", "N"}}}};
    const bool single = Below(6) == 0;  // float32, which has no matmul
    if (single)
      for (Json& tensor : list["tensors"]) tensor["dtype"] = "float32";
    std::vector<std::string> hinted;
    const auto add = [&](Json op, const std::string& output, bool under_hint) {
      op["output"] = output;
      list["ops"].push_back(std::move(op));
      if (under_hint) hinted.push_back(output);
    };
    std::string operand = "x";
    const bool computed = Below(2) == 0;
    const bool inside = computed && Below(2) == 0;
    if (computed) {
      add({{"op", Below(2) == 0 ? "abs" : "neg"}, {"inputs", {"x"}}}, "y", inside);
      operand = "y";
    }
    const int reductions = 1 + Below(3);
    bool reads_w = false;
    for (int i = 0; i < reductions; ++i) {
      const std::string name = "s" + std::to_string(i);
      const int kind = Below(6);
      if (kind == 0 && !single) {
        add({{"op", "matmul"}, {"inputs", {operand, "w"}}, {"dim", "K"}}, name, true);
        reads_w = true;
      } else if (kind == 1) {
        add({{"op", Below(2) == 0 ? "amax" : "sum"}, {"inputs", {"w"}}, {"dim", "K"}}, name, true);
        reads_w = true;
      } else {
        const std::vector<std::string> names = {"sum", "mean", "amax", "amin"};
        add({{"op", names[static_cast<size_t>(Below(4))]}, {"inputs", {operand}}, {"dim", "K"}},
            name, true);
      }
    }
    // Behind the loop, and now and then in it, where it is refused.
    if (Below(2) == 0) add({{"op", "relu"}, {"inputs", {"s0"}}}, "r", Below(12) == 0);
    if (!reads_w) {
      list["tensors"].erase(1);
      list["dims"].erase("N");
    }
    Json slices = Json::object();
    if (Below(2) == 0 && !reads_w) slices["A"] = 2;
    const int64_t k = list["dims"]["K"];
    slices["K"] = Below(12) == 0 ? 4 : k / 64;  // perhaps no whole sticks
    if (k == 256 && Below(2) == 0) slices["K"] = 2;
    list["hints"] = {{{"ops", hinted}, {"slices", slices}}};
    return list;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  int Pick(const std::vector<int>& from) { return from[random_() % from.size()]; }

  std::mt19937 random_;
};

}  // namespace spyre::fuzz
