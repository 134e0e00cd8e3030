// SPDX-License-Identifier: Apache-2.0
// What each OpFunc means in real numbers, by name: a function or reduction of
// reference_functions.h, or what is written here from the public definitions (docs/facts.md); on
// purpose not from the steps that code generation and the reference of bundles read, so that one
// checks the other. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cosim/reference/reference_functions.h"

namespace spyre::cosim {

// Rounds a result between two steps of one operation; the identity where nothing is rounded.
using RoundFunction = std::function<double(double)>;

struct OpMeaning {
  enum class Kind : uint8_t {
    kElements,    // elements(inputs) for each output element
    kPairs,       // the same; the first input is the two lanes that exx2 left
    kReduction,   // fold over what the output lacks, then elements(total)
    kTwoTotals,   // exx2: totals of x and of x * x, to lanes 0 and 1, each through elements(total)
    kProduct,     // sums of products over what the output lacks
    kConversion,  // elements(input); the narrow side takes turns between two sticks of the wide
  };
  struct Constant {
    std::string name;
    double value = 0;
    bool required = true;  // else `value` counts where the source has none
  };
  using Elements = std::function<double(
      const std::vector<double>& in, const std::vector<double>& constants, const RoundFunction&)>;

  Kind kind = Kind::kElements;
  size_t least_inputs = 1, most_inputs = 1;
  std::vector<Constant> constants;
  Elements elements;
  const FoldFunction<double>* fold = nullptr;
  int turn = 1;  // kConversion: elements of one wide stick before the other's turn
};

// nullptr: no public definition.
const OpMeaning* FindOpMeaning(const std::string& name);

}  // namespace spyre::cosim
