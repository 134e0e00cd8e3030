// SPDX-License-Identifier: Apache-2.0
// Typed values out of a Python source tree, for readers of constructor calls. Every function throws
// BadInput with file, line, column, `what` was read, what was found and what should be.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/compiler/ir/expression.h"
#include "runtime/compiler/op_spec/python_source.h"

namespace spyre::compiler {

class SpecValues {
 public:
  using Handler = std::function<void(const PyValue&)>;
  using Handlers = std::vector<std::pair<std::string, Handler>>;

  explicit SpecValues(const PySource& source) : source_(source) {}

 protected:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

  const PySource& source() const { return source_; }
  [[noreturn]] void Wrong(const PyValue& value, std::string_view what,
                          std::string_view right) const;

  // The class that a call constructs, without module; "" for other values.
  static std::string Constructor(const PyValue& value);
  // Gives each keyword argument to its handler, in the order of the source.
  void Keywords(const PyValue& call, const Handlers& known,
                const std::vector<std::string>& required) const;

  const std::string& String(const PyValue& value, std::string_view what) const;
  bool Bool(const PyValue& value, std::string_view what) const;
  const std::vector<PyValue>& List(const PyValue& value, std::string_view what) const;
  const std::vector<PyValue>& Dict(const PyValue& value, std::string_view what) const;
  // sympify('...'), or a plain number.
  Expression AsExpression(const PyValue& value, std::string_view what) const;
  std::string Symbol(const PyValue& value, std::string_view what) const;
  std::vector<std::string> Symbols(const PyValue& value, std::string_view what) const;
  // An expression without symbols.
  int64_t Integer(const PyValue& value, std::string_view what, int64_t least,
                  int64_t most = kMost) const;
  std::vector<int64_t> Integers(const PyValue& value, std::string_view what, int64_t least) const;
  double Float(const PyValue& value,
               std::string_view what) const;  // True is 1; inf and nan as well

 private:
  const PySource& source_;
};

}  // namespace spyre::compiler
