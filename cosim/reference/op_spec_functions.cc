// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/op_spec_functions.h"

#include <cmath>
#include <map>

#include "runtime/compiler/ops/op_entries.h"

namespace spyre::cosim {
namespace {

using Values = const std::vector<double>&;
using Round = const RoundFunction&;
using Kind = OpMeaning::Kind;

double Within(double x, double low, double high) {
  return FindBinary("minimum")(FindBinary("maximum")(x, low), high);
}

OpMeaning One(RealFunction<double> function) {
  OpMeaning meaning;
  meaning.elements = [function](Values in, Values, Round) { return function(in[0]); };
  return meaning;
}
OpMeaning Two(BinaryFunction function) {
  OpMeaning meaning;
  meaning.least_inputs = meaning.most_inputs = 2;
  meaning.elements = [function](Values in, Values, Round) { return function(in[0], in[1]); };
  return meaning;
}
OpMeaning Total(const FoldFunction<double>* fold) {
  OpMeaning meaning;
  meaning.kind = Kind::kReduction;
  meaning.fold = fold;
  meaning.elements = [](Values in, Values, Round) { return in[0]; };
  return meaning;
}

using Table = std::map<std::string, OpMeaning>;

// Those that are a single function or reduction.
void AddFunctions(Table& table) {
  for (const compiler::OpEntry& entry : compiler::OpEntries()) {
    for (const compiler::OpFunc& func : entry.op_funcs) {
      const std::string name(func.name);
      if (const auto function = FindRealFunction<double>(entry.name)) {
        table[name] = One(function);
      } else if (const BinaryFunction binary = FindBinary(entry.name)) {
        table[name] = Two(binary);
      } else if (const FoldFunction<double>* fold = FindFold<double>(entry.name)) {
        table[name] = Total(fold);
      }
    }
  }
  table["ReStickifyOpHBM"] = table["identity"];
  table["shuffle"] = table["identity"];
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
  clip.elements = [](Values in, Values c, Round) { return Within(in[0], c[0], c[1]); };
  table["clip"] = clip;

  OpMeaning softplus;
  softplus.constants = {{"softplusBeta", 1, false}, {"softplusThresh", 20, false}};
  softplus.elements = [](Values in, Values c, Round round) {
    const double x = round(in[0] * c[0]);
    return x > c[1] ? in[0] : round(FindRealFunction<double>("softplus")(x)) / c[0];
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
  for (const char* name : {"mean", "meannonstick"}) {
    OpMeaning& mean = table[name] = Total(FindFold<double>("sum"));
    mean.constants = {{"scaling_factor"}};
    mean.elements = [](Values in, Values c, Round) { return in[0] * c[0]; };
  }
  OpMeaning quantiser = Total(FindFold<double>("absmax"));
  quantiser.constants = {{"clipMin"}, {"clipMax"}, {"mulConst"}};
  quantiser.elements = [](Values in, Values c, Round round) {
    return Within(round(round(in[0]) * c[2]), c[0], c[1]);
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
