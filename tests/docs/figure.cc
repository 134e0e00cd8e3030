// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/figure.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/json_text.h"
#include "tests/paths.h"

namespace spyre::docs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json CardParameters() {
  const toml::table card = toml::parse_file(SPYRE_SOURCE_DIR "/configs/cards/spyre.toml");
  std::ostringstream text;
  text << toml::json_formatter(card);
  return JsonOf(text.str());
}

Json ReportOf(const fs::path& directory, const std::string& run) {
  for (const fs::path& path :
       {directory / "out" / run / "report.json", directory / "out" / (run + ".json")}) {
    if (fs::exists(path)) return JsonOf(ReadFile(path));
  }
  throw std::runtime_error("there is no report of '" + run + "': has the page run it?");
}

// The same field of each element of a list.
Json FieldOf(const Json& list, const std::string& key) {
  Json fields = Json::array();
  for (const Json& element : list) fields.push_back(element.at(key));
  return fields;
}

double NumberOf(const Json& value) {
  if (!value.is_array()) return value.get<double>();
  if (value.empty() || !value[0].is_number()) return static_cast<double>(value.size());
  double sum = 0;
  for (const Json& number : value) sum += number.get<double>();
  return sum;
}

// Recursive descent over one expression; the grammar's levels are the functions.
class Expression {
 public:
  Expression(std::string text, fs::path directory)
      : text_(std::move(text)), directory_(std::move(directory)) {}

  // The value of a name that stands alone, else of the expression.
  Json Value() {
    Skip();
    if (at_ < text_.size() && std::isalpha(text_[at_]) != 0) {
      const std::string name = Name();
      if (at_ == text_.size()) return Lookup(name);
      at_ = 0;
    }
    const double sum = Sum();
    if (at_ != text_.size()) Fail("'" + text_.substr(at_) + "' is left over");
    return sum;
  }

 private:
  double Sum() {
    double value = Product();
    for (;;) {
      if (Take('+')) {
        value += Product();
      } else if (Take('-')) {
        value -= Product();
      } else {
        return value;
      }
    }
  }
  double Product() {
    double value = Power();
    for (;;) {
      if (Take('*')) {
        value *= Power();
      } else if (Take('/')) {
        value /= Power();
      } else {
        return value;
      }
    }
  }
  double Power() {
    const double value = Factor();
    return Take('^') ? std::pow(value, Power()) : value;
  }
  double Factor() {
    if (Take('(')) {
      const double value = Sum();
      if (!Take(')')) Fail("a ) is missing");
      return value;
    }
    if (at_ == text_.size()) Fail("it ends too early");
    if (std::isalpha(text_[at_]) != 0) return Number(Name());
    size_t length = 0;
    double value = 0;
    try {
      value = std::stod(text_.substr(at_), &length);
    } catch (const std::logic_error&) {
      Fail("'" + text_.substr(at_) + "' is neither a number nor a name");
    }
    at_ += length;
    Skip();
    return value;
  }

  double Number(const std::string& name) {
    const Json value = Lookup(name);
    if (!value.is_array() && !value.is_number()) Fail(name + " is not a number");
    return NumberOf(value);
  }
  Json Lookup(const std::string& name) {
    std::istringstream keys(name);
    std::string key;
    std::getline(keys, key, '.');
    Json value = key == "card" ? CardParameters().at("card") : ReportOf(directory_, key);
    while (std::getline(keys, key, '.')) {
      const bool index = value.is_array() && std::isdigit(key[0]) != 0;
      if (value.is_array() && !index && !value.empty() && value[0].contains(key)) {
        value = FieldOf(value, key);
        continue;
      }
      if (index ? std::stoul(key) >= value.size() : !value.is_object() || !value.contains(key))
        Fail("there is no '" + key + "' in " + name);
      value = index ? Json(value[std::stoul(key)]) : Json(value[key]);
    }
    return value;
  }

  std::string Name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(text_[at_]) != 0 || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    Skip();
    return name;
  }
  bool Take(char sign) {
    if (at_ == text_.size() || text_[at_] != sign) return false;
    ++at_;
    Skip();
    return true;
  }
  void Skip() {
    while (at_ < text_.size() && std::isspace(text_[at_]) != 0) ++at_;
  }
  [[noreturn]] void Fail(const std::string& reason) const {
    throw std::runtime_error("figure '" + text_ + "': " + reason);
  }

  std::string text_;
  fs::path directory_;
  size_t at_ = 0;
};

}  // namespace

std::string Figure(const std::string& request, const fs::path& directory) {
  const size_t comma = request.rfind(',');
  const Json value = Expression(request.substr(0, comma), directory).Value();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() && !value.is_number())
    throw std::runtime_error("figure '" + request + "' is not a number");
  const double number = NumberOf(value);
  if (comma != std::string::npos)
    return fmt::format("{:.{}f}", number, std::stoi(request.substr(comma + 1)));
  return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

std::string JsonText(const std::string& name, const fs::path& directory) {
  const Json value = Expression(name, directory).Value();
  if (!value.is_object()) throw std::runtime_error(name + " is not an object");
  std::string text;
  for (const auto& [key, field] : value.items())
    text += fmt::format("{}\n  \"{}\": {}", text.empty() ? "{" : ",", key, field.dump());
  return text + "\n}\n";
}

}  // namespace spyre::docs
