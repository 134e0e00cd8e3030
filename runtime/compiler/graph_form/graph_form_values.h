// SPDX-License-Identifier: Apache-2.0
// For the files of graph_form.h only: a position in the JSON of a graph, and the parts of the form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler/graph_form/graph_form.h"

namespace spyre::compiler {

// A value and its path. Every access is checked and throws BadInput.
class FormValue {
 public:
  FormValue(const OrderedJson& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const OrderedJson& json() const { return *value_; }
  const std::string& path() const { return path_; }

  bool Has(const char* key) const;                                 // and it is not null
  FormValue At(const char* key) const;                             // throws if it is missing
  std::optional<FormValue> Find(const char* key) const;            // nothing: missing or null
  std::vector<FormValue> Items() const;                            // of a list
  std::vector<std::pair<std::string, FormValue>> Entries() const;  // of an object, in its order
  // No other keys.
  void RequireKeys(const std::vector<std::string>& known) const;

  std::string Text() const;  // may be empty
  int64_t Integer(int64_t low, int64_t high) const;
  double Number() const;
  bool Flag() const;
  std::vector<int64_t> Integers(int64_t low, int64_t high) const;
  std::vector<int> Ints(int low, int high) const;
  std::vector<std::string> Texts() const;
  Extent Size() const;  // a number, or text with symbols
  std::vector<Extent> Sizes() const;

  [[noreturn]] void Fail(const std::string& expected) const;

 private:
  const OrderedJson* value_;
  std::string path_;
};

// The parts of a form. Writers add their keys to `json`.
void ListToJson(const NamedGraph& list, OrderedJson& json);
NamedGraph ListFromJson(const FormValue& form);
OrderedJson OptionsToJson(const FrontEndOptions& options);
FrontEndOptions OptionsFromJson(const FormValue& value);
OrderedJson LoweredToJson(const FrontEndResult& graph);
void LoweredFromJson(const FormValue& value, FrontEndResult& graph);

}  // namespace spyre::compiler
