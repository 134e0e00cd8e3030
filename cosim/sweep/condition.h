// SPDX-License-Identifier: Apache-2.0
// A condition between the keys of a grid's points, such as
//
//   workload.split.m * workload.split.n <= 32 and workload.launch.overlap != "none"
//
// Words are keys of the configuration, whole or decimal numbers, texts in quotes, true and false.
// Operators, weakest first: or; and; not; == != < <= > >=; + -; * / %; - of one number. Numbers are
// float64; % is of whole numbers. A condition must be true or false. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace spyre::cosim {

class Condition {
 public:
  // Throws Error(kBadInput) that shows the text and where it goes wrong.
  explicit Condition(std::string text);
  ~Condition();
  Condition(Condition&&) noexcept;
  Condition& operator=(Condition&&) noexcept;

  const std::string& text() const { return text_; }
  const std::vector<std::string>& keys() const { return keys_; }  // that it names, each once

  using ValueOfKey = std::function<nlohmann::ordered_json(const std::string& key)>;
  // Throws Error(kBadInput) if its operators do not fit the values, as in 1 < "a" or 1 / 0.
  bool Holds(const ValueOfKey& value_of) const;

  struct Node;  // of the parsed expression

 private:
  std::string text_;
  std::vector<std::string> keys_;
  std::unique_ptr<Node> root_;
};

}  // namespace spyre::cosim
