// SPDX-License-Identifier: Apache-2.0
// What the operations mean in real numbers, by name: once, for all references, and on purpose not
// from the card's arithmetic or from the instructions that the compiler makes, so that each checks
// the other. Names are those of the operations (runtime/compiler/ops/op_entries.h) and of the
// vector unit's functions (model/contract/vector_functions.h). Pure; any thread.
#pragma once

#include <string_view>

namespace spyre::cosim {

// Real: double, or long double where a result is rounded once from it.
template <class Real>
using RealFunction = Real (*)(Real);
using UnaryFunction = RealFunction<long double>;
using BinaryFunction = double (*)(double, double);

// combine(... combine(start, element(x0)) ..., element(xn)).
template <class Real>
struct FoldFunction {
  // How rounding errors of the combinations grow.
  enum class Errors { kNone, kOfSums, kOfProducts };
  Real start;
  Real (*element)(Real x);
  Real (*combine)(Real total, Real element);
  Errors errors = Errors::kNone;
};

// nullptr for an unknown name, in each of these.
template <class Real>
RealFunction<Real> FindRealFunction(std::string_view name);  // Real: double, long double
inline UnaryFunction FindUnary(std::string_view name) {
  return FindRealFunction<long double>(name);
}
// The function on real numbers. Of two float values, rounding its double result to float is the
// correctly rounded float operation.
BinaryFunction FindBinary(std::string_view name);
template <class Real>
const FoldFunction<Real>* FindFold(std::string_view name);  // Real: float, double

}  // namespace spyre::cosim
