// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/reference_functions.h"

#include <algorithm>
#include <map>

namespace spyre::cosim {
namespace {

using Real = long double;

Real Relu(Real x) { return x > 0 || std::isnan(x) ? x : 0; }
// x * Phi(x), with the complementary error function so that the negative tail keeps its digits.
Real Gelu(Real x) { return x * std::erfc(-x / std::sqrt(Real{2})) / 2; }
Real Sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
// log(1 + exp(x)) without the overflow of exp.
Real Softplus(Real x) {
  return (x > 0 ? x : (std::isnan(x) ? x : Real{0})) + std::log1p(std::exp(-std::fabs(x)));
}
Real Relu6(Real x) {
  const Real positive = Relu(x);
  return positive > 6 ? 6 : positive;
}

double Max(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double Min(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

}  // namespace

UnaryFunction FindUnary(const std::string& name) {
  static const std::map<std::string, UnaryFunction> functions = {
      {"copy", [](Real x) { return x; }},
      {"neg", [](Real x) { return -x; }},
      {"abs", [](Real x) { return std::fabs(x); }},
      {"relu", Relu},
      {"exp", [](Real x) { return std::exp(x); }},
      {"gelu", Gelu},
      {"sigmoid", Sigmoid},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"sqrt", [](Real x) { return std::sqrt(x); }},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](Real x) { return 1 / x; }},
      {"log", [](Real x) { return std::log(x); }},
      {"silu", [](Real x) { return x * Sigmoid(x); }},
      {"softplus", Softplus},
      {"mish", [](Real x) { return x * std::tanh(Softplus(x)); }},
      {"relu6", Relu6},
      {"floor", [](Real x) { return std::floor(x); }},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

BinaryFunction FindBinary(const std::string& name) {
  static const std::map<std::string, BinaryFunction> functions = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"revsub", [](double a, double b) { return b - a; }},
      {"revdiv", [](double a, double b) { return b / a; }},
      {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"notequal", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"greaterequal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"lessequal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"max", Max},
      {"min", Min},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace spyre::cosim
