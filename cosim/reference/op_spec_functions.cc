// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/op_spec_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace spyre::cosim {
namespace {

using Values = const std::vector<double>&;
using Round = const RoundFunction&;
using Kind = OpMeaning::Kind;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kTwo = 2;
constexpr double kSix = 6;

double Larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double Smaller(double a, double b) { return -Larger(-a, -b); }
double Sum(double total, double x) { return total + x; }
double LargerMagnitude(double total, double x) { return Larger(total, std::fabs(x)); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// log(1 + exp(x)), which does not overflow for large x.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

OpMeaning One(double (*function)(double)) {
  OpMeaning meaning;
  meaning.elements = [function](Values in, Values, Round) { return function(in[0]); };
  return meaning;
}
OpMeaning Two(double (*function)(double, double)) {
  OpMeaning meaning;
  meaning.least_inputs = meaning.most_inputs = 2;
  meaning.elements = [function](Values in, Values, Round) { return function(in[0], in[1]); };
  return meaning;
}
OpMeaning Total(double start, double (*fold)(double, double)) {
  OpMeaning meaning;
  meaning.kind = Kind::kReduction;
  meaning.start = start;
  meaning.fold = fold;
  meaning.elements = [](Values in, Values, Round) { return in[0]; };
  return meaning;
}

using Table = std::map<std::string, OpMeaning>;

void AddFunctions(Table& table) {
  for (const char* copy : {"identity", "ReStickifyOpHBM"})
    table[copy] = One([](double x) { return x; });
  table["abs"] = One([](double x) { return std::fabs(x); });
  table["exp"] = One([](double x) { return std::exp(x); });
  table["floor"] = One([](double x) { return std::floor(x); });
  table["gelufwd"] = One([](double x) { return x * std::erfc(-x / std::sqrt(kTwo)) / kTwo; });
  table["log"] = One([](double x) { return std::log(x); });
  table["mish"] = One([](double x) { return x * std::tanh(Softplus(x)); });
  table["neg"] = One([](double x) { return -x; });
  table["reciprocal"] = One([](double x) { return 1 / x; });
  table["relufwd"] = One([](double x) { return Larger(x, 0); });
  table["relu6fwd"] = One([](double x) { return Smaller(Larger(x, 0), kSix); });
  table["rsqrt"] = One([](double x) { return 1 / std::sqrt(x); });
  table["sigmoid"] = One(Sigmoid);
  table["silu"] = One([](double x) { return x * Sigmoid(x); });
  table["sqrt"] = One([](double x) { return std::sqrt(x); });
  table["tanh"] = One([](double x) { return std::tanh(x); });
  for (const char* sum : {"add", "biasadd"}) table[sum] = Two(Sum);
  table["sub"] = Two([](double a, double b) { return a - b; });
  table["revsub"] = Two([](double a, double b) { return b - a; });
  table["mul"] = Two([](double a, double b) { return a * b; });
  table["realdiv"] = Two([](double a, double b) { return a / b; });
  table["maximum"] = Two(Larger);
  table["minimum"] = Two(Smaller);
  table["equal"] = Two([](double a, double b) { return a == b ? 1.0 : 0.0; });
  table["notequal"] = Two([](double a, double b) { return a != b ? 1.0 : 0.0; });
  table["greaterthan"] = Two([](double a, double b) { return a > b ? 1.0 : 0.0; });
  table["greaterequal"] = Two([](double a, double b) { return a >= b ? 1.0 : 0.0; });
  table["lesserthan"] = Two([](double a, double b) { return a < b ? 1.0 : 0.0; });
  table["lesserequal"] = Two([](double a, double b) { return a <= b ? 1.0 : 0.0; });
}

void AddWithConstants(Table& table) {
  OpMeaning where;
  where.least_inputs = where.most_inputs = 3;
  where.elements = [](Values in, Values, Round) { return in[0] != 0 ? in[1] : in[2]; };
  table["where3"] = where;

  OpMeaning norm;
  norm.least_inputs = 3;
  norm.most_inputs = 5;
  norm.elements = [](Values in, Values, Round round) {
    double value = round(round(in[0] - in[1]) * in[2]);
    if (in.size() > 3) value = round(value * in[3]);
    if (in.size() > 4) value += in[4];
    return value;
  };
  table["layernormnorm"] = norm;

  OpMeaning clip;
  clip.constants = {{"clipMin"}, {"clipMax"}};
  clip.elements = [](Values in, Values c, Round) { return Smaller(Larger(in[0], c[0]), c[1]); };
  table["clip"] = clip;

  OpMeaning softplus;
  softplus.constants = {{"softplusBeta", 1, false}, {"softplusThresh", 20, false}};
  softplus.elements = [](Values in, Values c, Round round) {
    const double x = round(in[0] * c[0]);
    return x > c[1] ? in[0] : round(Softplus(x)) / c[0];
  };
  table["softplus"] = softplus;

  OpMeaning scale;
  scale.kind = Kind::kPairs;
  scale.constants = {{"eps"}};
  scale.elements = [](Values in, Values c, Round) {
    return 1 / std::sqrt(in[1] - in[0] * in[0] + c[0]);
  };
  table["layernormscale"] = scale;
}

void AddReductions(Table& table) {
  for (const std::string suffix : {"", "nonstick"}) {
    table["sum" + suffix] = Total(0, Sum);
    table["max" + suffix] = Total(-kInfinite, Larger);
    table["min" + suffix] = Total(kInfinite, Smaller);
    table["absmax" + suffix] = Total(0, LargerMagnitude);
    OpMeaning& mean = table["mean" + suffix] = Total(0, Sum);
    mean.constants = {{"scaling_factor"}};
    mean.elements = [](Values in, Values c, Round) { return in[0] * c[0]; };
  }
  OpMeaning quantiser = Total(0, LargerMagnitude);
  quantiser.constants = {{"clipMin"}, {"clipMax"}, {"mulConst"}};
  quantiser.elements = [](Values in, Values c, Round round) {
    return Smaller(Larger(round(round(in[0]) * c[2]), c[0]), c[1]);
  };
  table["quantscalepertokenfp8"] = quantiser;

  OpMeaning moments;
  moments.kind = Kind::kTwoTotals;
  moments.constants = {{"exx2scale"}, {"useZeroMean", 0, false}};
  moments.elements = [](Values in, Values c, Round) { return in[0] * c[0]; };
  table["exx2"] = moments;
  moments.constants = {{"exx2scale"}, {"", 1, false}};
  table["exx2_zeromean"] = moments;
}

void AddConversions(Table& table) {
  constexpr int kFour = 4;
  constexpr int kEight = 8;
  const auto add = [&](const char* name, int turn, bool affine) {
    OpMeaning meaning = One([](double x) { return x; });
    meaning.kind = Kind::kConversion;
    meaning.turn = turn;
    if (affine) {
      meaning.constants = {{"scaleact"}, {"shiftact"}};
      meaning.elements = [](Values in, Values c, Round) { return in[0] * c[0] + c[1]; };
    }
    table[name] = meaning;
  };
  add("dl16tofp32", kFour, false);
  add("fp32todl16", kFour, false);
  add("fp8todl16", kEight, false);
  add("qfp8ch", kEight, false);
  add("qfp8mb", kEight, false);
  add("qfp8wt", 1, false);
  add("csqint8ch", kEight, true);
  add("csqint8mb", kEight, true);
  add("csqint8wt", 1, true);
}

Table MakeMeanings() {
  Table table;
  AddFunctions(table);
  AddWithConstants(table);
  AddReductions(table);
  AddConversions(table);
  for (const char* name : {"batchmatmul", "batchmatmulfp8"}) {
    OpMeaning& product = table[name];
    product.kind = Kind::kProduct;
    product.least_inputs = product.most_inputs = 2;
  }
  return table;
}

}  // namespace

const OpMeaning* FindOpMeaning(const std::string& name) {
  static const Table table = MakeMeanings();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace spyre::cosim
