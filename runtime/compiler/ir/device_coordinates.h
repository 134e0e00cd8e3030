// SPDX-License-Identifier: Apache-2.0
// Where an access lands in a stick layout: one coordinate per device dimension, as a function of
// the loop variables. Pure functions, any thread. Source: public compiler front end
// (docs/facts.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

// floor((step * v mod modulus) / divisor) for loop variable v; modulus 0: none.
struct CoordinateTerm {
  int variable;  // position in OpIr::loops
  int64_t step;
  int64_t modulus;
  int64_t divisor;

  int64_t At(int64_t value) const {
    const int64_t position = step * value;
    return (modulus == 0 ? position : position % modulus) / divisor;
  }
};

// constant + the sum of the terms, at most one for each variable.
struct Coordinate {
  int64_t constant = 0;
  std::vector<CoordinateTerm> terms;

  bool Uses(int variable) const;
  int64_t At(const std::vector<int64_t>& values) const;  // one value per loop variable
};

// One coordinate for each entry of layout.device_size. A variable goes to the dimension with the
// largest stride not above its coefficient, and to every dimension whose stride lies between
// coefficient and coefficient * range; it is taken modulo the next larger stride where its range
// runs past that. Dimensions of size 1 and strides <= 0 take no part. Needs a CheckOp'ed operation.
std::vector<Coordinate> DeviceCoordinates(const StickLayout& layout, const IndexExpression& index,
                                          const std::vector<LoopVariable>& loops);

// Whether a last coordinate is one that the hardware can walk: nothing, a bare variable, or one
// variable modulo exactly the elements of a stick.
bool IsStickCoordinate(const Coordinate& coordinate, int64_t elements_per_stick);

// Whether a last coordinate is one that the public pass takes: a constant, or one variable and a
// constant. The variable may be divided, reduced by a modulus, or both ("floor(Mod(f0, 512)/8)", a
// dimension of 64 in the middle of a fused loop; "Mod(f0, 8)", one that does not fill its stick),
// as long as it walks the stick element by element: "2*Mod(d1, 32)", every second one, is not
// taken. The hardware walks fewer (IsStickCoordinate), which emission holds them to.
bool IsStickExpression(const Coordinate& coordinate, int64_t elements_per_stick);

// "floor(d1/64)", "Mod(d1, 64)", "d0 + 512", "0".
std::string ToString(const Coordinate& coordinate, const std::vector<LoopVariable>& loops);

}  // namespace spyre::compiler
