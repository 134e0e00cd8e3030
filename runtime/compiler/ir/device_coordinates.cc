// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/device_coordinates.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Places everything that has coefficient `step` and reaches below `limit`: calls place(dimension,
// modulus, divisor), modulus 0 for none.
class Placement {
 public:
  explicit Placement(const StickLayout& layout)
      : size_(layout.device_size), stride_(layout.stride_map) {
    for (int64_t stride : stride_) {
      int64_t next = kUnlimited;
      for (size_t j = 0; j < stride_.size(); ++j) {
        if (size_[j] > 1 && stride_[j] > stride) next = std::min(next, stride_[j]);
      }
      next_stride_.push_back(next);
    }
  }

  template <typename Place>
  void Run(int64_t step, int64_t limit, Place place) const {
    size_t primary = 0;
    int64_t primary_stride = 0;
    for (size_t d = 0; d < stride_.size(); ++d) {
      if (size_[d] == 1) continue;
      if (stride_[d] <= step && stride_[d] > primary_stride) {
        primary = d;
        primary_stride = stride_[d];
      } else if (stride_[d] > step && stride_[d] < limit) {
        place(d, Modulus(d, limit), stride_[d]);
      }
    }
    if (primary_stride > 0) place(primary, Modulus(primary, limit), primary_stride);
  }

 private:
  int64_t Modulus(size_t d, int64_t limit) const {
    return next_stride_[d] < limit ? next_stride_[d] : 0;
  }

  const std::vector<int64_t>& size_;
  const std::vector<int64_t>& stride_;
  std::vector<int64_t> next_stride_;  // smallest larger stride in use
};

}  // namespace

bool Coordinate::Uses(int variable) const {
  return AnyFits(terms, [&](const CoordinateTerm& term) { return term.variable == variable; });
}

int64_t Coordinate::At(const std::vector<int64_t>& values) const {
  int64_t sum = constant;
  for (const CoordinateTerm& term : terms) {
    sum += term.At(values[static_cast<size_t>(term.variable)]);
  }
  return sum;
}

std::vector<Coordinate> DeviceCoordinates(const StickLayout& layout, const IndexExpression& index,
                                          const std::vector<LoopVariable>& loops) {
  std::vector<Coordinate> coordinates(layout.device_size.size());
  const Placement placement(layout);
  if (index.constant > 0) {
    placement.Run(1, kUnlimited, [&](size_t d, int64_t modulus, int64_t divisor) {
      coordinates[d].constant += CoordinateTerm{0, 1, modulus, divisor}.At(index.constant);
    });
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t step = index.coefficient[i];
    if (loops[i].range <= 1 || step == 0) continue;
    placement.Run(step, step * loops[i].range, [&](size_t d, int64_t modulus, int64_t divisor) {
      coordinates[d].terms.push_back({static_cast<int>(i), step, modulus, divisor});
    });
  }
  return coordinates;
}

bool IsStickCoordinate(const Coordinate& coordinate, int64_t elements_per_stick) {
  if (coordinate.constant != 0) return false;
  if (coordinate.terms.empty()) return true;
  if (coordinate.terms.size() > 1) return false;
  const CoordinateTerm& term = coordinate.terms.front();
  if (term.step != term.divisor) return false;
  return term.modulus == 0 || term.modulus == elements_per_stick * term.divisor;
}

bool IsStickExpression(const Coordinate& coordinate, int64_t elements_per_stick) {
  if (coordinate.terms.empty()) return true;
  if (coordinate.terms.size() > 1) return false;
  const CoordinateTerm& term = coordinate.terms.front();
  if (term.step <= term.divisor) return true;
  // A step that has no factor in common with the stick reaches every element of it.
  return term.step % term.divisor == 0 && term.modulus == elements_per_stick * term.divisor &&
         std::gcd(term.step / term.divisor, elements_per_stick) == 1;
}

std::string ToString(const Coordinate& coordinate, const std::vector<LoopVariable>& loops) {
  std::string text;
  for (const CoordinateTerm& term : coordinate.terms) {
    // Dividing step, modulus and divisor by a common factor changes no value.
    const int64_t common = std::gcd(std::gcd(term.step, term.modulus), term.divisor);
    const int64_t step = term.step / common;
    const int64_t modulus = term.modulus / common;
    const int64_t divisor = term.divisor / common;
    std::string part = loops[static_cast<size_t>(term.variable)].name;
    if (step != 1) part = fmt::format("{}*{}", step, part);
    if (modulus != 0) part = fmt::format("Mod({}, {})", part, modulus);
    if (divisor != 1) part = fmt::format("floor({}/{})", part, divisor);
    text += (text.empty() ? "" : " + ") + part;
  }
  if (text.empty()) return std::to_string(coordinate.constant);
  if (coordinate.constant != 0) text += " + " + std::to_string(coordinate.constant);
  return text;
}

}  // namespace spyre::compiler
