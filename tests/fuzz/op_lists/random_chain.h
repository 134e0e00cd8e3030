// SPDX-License-Identifier: Apache-2.0
// Random chains of operations over one space of dimensions, so that most plans for them are valid:
// operands broadcast, and now and then a dimension is summed. In the JSON that users write.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace spyre::fuzz {

class RandomChain {
 public:
  using Json = nlohmann::ordered_json;

  explicit RandomChain(uint32_t seed) : random_(seed) {}

  Json Make() {
    Json list = Json::object();
    list["dims"] = {{"A", Pick({4, 8, 16, 32})}, {"B", Pick({128, 256, 512})}};
    const bool three = Below(3) == 0;
    if (three) list["dims"]["H"] = Pick({2, 4});
    const Names all = three ? Names{"H", "A", "B"} : Names{"A", "B"};
    const Names rows = three ? Names{"H", "B"} : Names{"B"};
    list["tensors"] = {{{"name", "a"}, {"dims", all}}, {{"name", "r"}, {"dims", rows}}};
    Names of_all = {"a"};
    bool reads_r = false;
    const int ops = 3 + Below(4);
    for (int i = 0; i < ops; ++i) {
      const std::string name = "t" + std::to_string(i);
      const std::string newest = of_all.back();
      Json op;
      const int kind = Below(10);
      if (kind == 0 && i + 1 == ops) {  // what sums has another space
        op = {{"op", Below(2) == 0 ? "amax" : "mean"}, {"inputs", {newest}}};
        op["dim"] = all[static_cast<size_t>(Below(static_cast<int>(all.size())))];
      } else if (kind < 3 || (i + 1 == ops && !reads_r)) {
        reads_r = true;
        op = {{"op", Below(2) == 0 ? "add" : "mul"}, {"inputs", {newest, "r"}}};
        of_all.push_back(name);
      } else if (kind < 6) {
        op = {{"op", Below(2) == 0 ? "neg" : "tanh"}, {"inputs", {newest}}};
        of_all.push_back(name);
      } else {
        const std::string other =
            of_all[static_cast<size_t>(Below(static_cast<int>(of_all.size())))];
        op = {{"op", Below(2) == 0 ? "sub" : "maximum"}, {"inputs", {newest, other}}};
        of_all.push_back(name);
      }
      op["output"] = name;
      list["ops"].push_back(std::move(op));
    }
    if (!reads_r) list["tensors"].erase(1);
    return list;
  }

 private:
  using Names = std::vector<std::string>;

  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  int Pick(const std::vector<int>& from) { return from[random_() % from.size()]; }

  std::mt19937 random_;
};

}  // namespace spyre::fuzz
