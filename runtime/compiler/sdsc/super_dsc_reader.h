// SPDX-License-Identifier: Apache-2.0
// What the parts of the SuperDSC reader share. Errors: BadInput with file, JSON path, value and
// what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

inline constexpr int64_t kMaxSize = 1ll << 40;  // elements of one dimension, gap or mask

// An integer, or a string that holds one in decimal.
int64_t Number(const JsonReader& at, int64_t low, int64_t high);
// Keys and values of an object, or of the object behind `key`: empty if there is no such key.
std::vector<std::pair<std::string, JsonReader>> Members(const JsonReader& at);
std::vector<std::pair<std::string, JsonReader>> Members(const JsonReader& at, const char* key);
JsonReader OnlyMember(const JsonReader& at, const char* what);
DataFormat FormatOf(const JsonReader& at);

// Positions in dsc.dims, by name.
int DimOf(const SuperDsc& dsc, const std::string& name, const JsonReader& at);
std::vector<int> DimsOf(const SuperDsc& dsc, const JsonReader& list);  // each at most once

// Reads labeledDs_ with the allocate node of each into dsc.tensors; dims, cores and slices are
// there. Returns their ldsIdx_.
std::vector<int64_t> ReadTensors(const JsonReader& body, SuperDsc& dsc);

}  // namespace spyre::compiler
