#include "cosim/reference_functions.h"

#include <algorithm>
#include <map>

namespace spyre::cosim {
namespace {

using Real = long double;

Real Relu(Real x) { return x > 0 || std::isnan(x) ? x : 0; }
// x * Phi(x), with the complementary error function so that the negative tail keeps its digits.
Real Gelu(Real x) { return x * std::erfc(-x / std::sqrt(Real{2})) / 2; }
Real Sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

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
      {"max", Max},
      {"min", Min},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace spyre::cosim
