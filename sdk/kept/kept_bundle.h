// SPDX-License-Identifier: Apache-2.0
// Bundles that a program's compiler has read, kept for whoever simulates the program: a program on
// the card is bytes, and its digest leads back to what it was compiled from.
//
//   OUT/kernels/.compiled/DIGEST/{bundle.mlir, sdsc_0.json, ...}
//
// dxp_standalone keeps them if the environment asks for it; the module spyre_card finds them.
// Several processes may keep at once. Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace spyre::sdk {

// The environment's variable: bundles are kept in SPYRE_COSIM_OUT if it is set.
inline constexpr const char* kKeepVariable = "SPYRE_COSIM_KEEP";
inline constexpr const char* kOutVariable = "SPYRE_COSIM_OUT";

// Of the bytes that are copied to the card; zeros at their end do not count.
std::string ProgramDigest(const uint8_t* image, uint64_t bytes);
// Where the bundle of that program is kept; it may not be there.
std::filesystem::path KeptBundle(const std::string& out, const std::string& digest);
// Copies bundle.mlir and the SDSC files of `bundle`; replaces nothing.
void KeepBundle(const std::filesystem::path& bundle, const std::string& out,
                const std::string& digest);
// The same files, to a directory that is made.
void CopyBundle(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace spyre::sdk
