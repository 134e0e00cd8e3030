// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/reference_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace spyre::cosim {
namespace {

template <class Real>
Real Relu(Real x) {
  return x > 0 || std::isnan(x) ? x : 0;
}
template <class Real>
Real Relu6(Real x) {
  const Real positive = Relu(x);
  return positive > 6 ? 6 : positive;
}
// x * Phi(x), with the complementary error function so that the negative tail keeps its digits.
template <class Real>
Real Gelu(Real x) {
  return x * std::erfc(-x / std::sqrt(Real{2})) / 2;
}
template <class Real>
Real Sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}
// log(1 + exp(x)) without the overflow of exp.
template <class Real>
Real Softplus(Real x) {
  return (x > 0 || std::isnan(x) ? x : Real{0}) + std::log1p(std::exp(-std::fabs(x)));
}

template <class Real>
Real Larger(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  return a < b ? b : a;
}
template <class Real>
Real Smaller(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  return b < a ? b : a;
}
template <class Real>
Real Itself(Real x) {
  return x;
}
template <class Real>
Real Add(Real a, Real b) {
  return a + b;
}

// Of numbers that are whole, in two's complement.
int32_t Int(double x) { return static_cast<int32_t>(x); }

template <class Table>
auto Find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? typename Table::mapped_type{} : found->second;
}

}  // namespace

template <class Real>
RealFunction<Real> FindRealFunction(std::string_view name) {
  static const std::map<std::string_view, RealFunction<Real>> functions = {
      {"copy", Itself<Real>},
      {"neg", [](Real x) { return -x; }},
      {"abs", [](Real x) { return std::fabs(x); }},
      {"relu", Relu<Real>},
      {"exp", [](Real x) { return std::exp(x); }},
      {"gelu", Gelu<Real>},
      {"sigmoid", Sigmoid<Real>},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"sqrt", [](Real x) { return std::sqrt(x); }},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](Real x) { return 1 / x; }},
      {"log", [](Real x) { return std::log(x); }},
      {"silu", [](Real x) { return x * Sigmoid(x); }},
      {"softplus", Softplus<Real>},
      {"mish", [](Real x) { return x * std::tanh(Softplus(x)); }},
      {"relu6", Relu6<Real>},
      {"floor", [](Real x) { return std::floor(x); }},
      {"sin", [](Real x) { return std::sin(x); }},
      {"cos", [](Real x) { return std::cos(x); }},
  };
  return Find(functions, name);
}
template RealFunction<double> FindRealFunction<double>(std::string_view name);
template RealFunction<long double> FindRealFunction<long double>(std::string_view name);

BinaryFunction FindBinary(std::string_view name) {
  static const std::map<std::string_view, BinaryFunction> functions = [] {
    std::map<std::string_view, BinaryFunction> table = {
        {"add", Add<double>},
        {"sub", [](double a, double b) { return a - b; }},
        {"mul", [](double a, double b) { return a * b; }},
        {"div", [](double a, double b) { return a / b; }},
        {"floordiv", [](double a, double b) { return std::floor(a / b); }},
        {"bitwise_and", [](double a, double b) { return static_cast<double>(Int(a) & Int(b)); }},
        {"bitwise_or", [](double a, double b) { return static_cast<double>(Int(a) | Int(b)); }},
        {"bitwise_xor", [](double a, double b) { return static_cast<double>(Int(a) ^ Int(b)); }},
        {"revsub", [](double a, double b) { return b - a; }},
        {"revdiv", [](double a, double b) { return b / a; }},
        {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
        {"notequal", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
        {"greaterthan", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
        {"greaterequal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
        {"lesserthan", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
        {"lesserequal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
        {"maximum", Larger<double>},
        {"minimum", Smaller<double>},
    };
    // What the vector unit calls them.
    table["biasadd"] = table["add"];
    table["max"] = table["maximum"];
    table["min"] = table["minimum"];
    table["greater"] = table["greaterthan"];
    table["less"] = table["lesserthan"];
    table["lessequal"] = table["lesserequal"];
    return table;
  }();
  return Find(functions, name);
}

template <class Real>
const FoldFunction<Real>* FindFold(std::string_view name) {
  using Errors = typename FoldFunction<Real>::Errors;
  constexpr Real kInfinite = std::numeric_limits<Real>::infinity();
  static const FoldFunction<Real> sum = {0, Itself<Real>, Add<Real>, Errors::kOfSums};
  static const FoldFunction<Real> max = {-kInfinite, Itself<Real>, Larger<Real>};
  static const FoldFunction<Real> min = {kInfinite, Itself<Real>, Smaller<Real>};
  static const FoldFunction<Real> squares = {0, [](Real x) { return x * x; }, Add<Real>,
                                             Errors::kOfSums};
  static const FoldFunction<Real> magnitude = {0, [](Real x) { return std::fabs(x); },
                                               Larger<Real>};
  static const FoldFunction<Real> product = {1, Itself<Real>, [](Real a, Real b) { return a * b; },
                                             Errors::kOfProducts};
  static const std::map<std::string_view, const FoldFunction<Real>*> folds = {
      {"sum", &sum},          {"max", &max},      {"amax", &max},
      {"min", &min},          {"amin", &min},     {"sumofsquares", &squares},
      {"absmax", &magnitude}, {"prod", &product},
  };
  return Find(folds, name);
}
template const FoldFunction<float>* FindFold<float>(std::string_view name);
template const FoldFunction<double>* FindFold<double>(std::string_view name);

}  // namespace spyre::cosim
