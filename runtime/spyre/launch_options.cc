// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_options.h"

#include <array>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"

namespace spyre::runtime {
namespace {

// Names by value of the enumeration.
using Names4 = std::array<const char*, 4>;
using Names3 = std::array<const char*, 3>;
constexpr Names3 kRemainders = {"fail", "pad", "remainder_kernel"};
constexpr Names3 kRoutings = {"auto", "strict", "tiled"};
constexpr Names4 kReductions = {"fail", "device", "lx", "plan"};
constexpr Names3 kOverlaps = {"none", "double_buffer", "streams"};

template <class Names>
std::vector<std::string> ListOf(const Names& names) {
  return {names.begin(), names.end()};
}

template <class Value, class Names>
Value FromName(const char* what, const Names& names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  throw BadInput("'{}' is not a choice for {}; those are {}{}", name, what, Joined(names, ", "),
                 DidYouMean(name, ListOf(names)));
}

}  // namespace

const char* Name(Remainder value) { return kRemainders.at(static_cast<size_t>(value)); }
const char* Name(Routing value) { return kRoutings.at(static_cast<size_t>(value)); }
const char* Name(ReductionTiling value) { return kReductions.at(static_cast<size_t>(value)); }
const char* Name(Overlap value) { return kOverlaps.at(static_cast<size_t>(value)); }

Remainder RemainderFromName(std::string_view name) {
  return FromName<Remainder>("remainders", kRemainders, name);
}
Routing RoutingFromName(std::string_view name) {
  return FromName<Routing>("routing", kRoutings, name);
}
ReductionTiling ReductionTilingFromName(std::string_view name) {
  return FromName<ReductionTiling>("tiled reductions", kReductions, name);
}
Overlap OverlapFromName(std::string_view name) {
  return FromName<Overlap>("overlap", kOverlaps, name);
}

std::vector<std::string> RemainderNames() { return ListOf(kRemainders); }
std::vector<std::string> RoutingNames() { return ListOf(kRoutings); }
std::vector<std::string> ReductionTilingNames() { return ListOf(kReductions); }
std::vector<std::string> OverlapNames() { return ListOf(kOverlaps); }

}  // namespace spyre::runtime
