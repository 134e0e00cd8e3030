// SPDX-License-Identifier: Apache-2.0
// What the tensors of a bundle's arguments look like on the host: shape, type, layout on the
// device. SDSC files have device addresses only, so this comes from beside them: --shape, a
// manifest.json, or the OpSpec source. Reads files, else pure; any thread. Errors: Error(kBadInput)
// naming the file and the key, or what is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/contract/stick_layout.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {

// Of a file of OpSpec source, where loops can be written out: an operation for each iteration.
inline constexpr uint64_t kMaxOpSpecBytes = 64 << 20;

struct ArgumentShape {
  std::string name;  // "" if the source does not say
  std::vector<int64_t> shape;
  DataFormat host_format = DataFormat::kIeeeFp16;
  StickLayout layout;
  std::string role;  // "input", "output", "inout" or "" if the source does not say
};

// "512x4096", "4096", "512x4096:float32"; "scalar" has no dimensions. Default layout.
ArgumentShape ParseShape(const std::string& text);

// From manifest.json in the bundle's directory, or from one in a directory above that lists it by
// path; docs/bundles.md has the format. Empty if there is none, or if its entry has no shapes.
std::optional<std::vector<ArgumentShape>> ShapesFromManifest(const std::filesystem::path& bundle);

// From the kernel arguments of OpSpec source, as far as their device sizes tell.
std::vector<ArgumentShape> ShapesFromSource(const compiler::KernelSource& source);
// Throws BadInput, with the device size that is right, for a kernel argument in device memory whose
// device_size is that of one tile although the loops around its operation advance it, as the
// example of the coarse-tiling document has it: where the next tile lies cannot be told from that.
void CheckTiledArguments(const compiler::KernelSource& source, const std::string& file);
// The same of op_spec.py.txt in the bundle's directory; empty if there is none.
std::optional<std::vector<ArgumentShape>> ShapesBesideBundle(const std::filesystem::path& bundle);

// The layout with these device sizes (outermost first, the last inside a stick), and with this
// stride map unless it is empty. BadInput naming `where` if no order of the host dimensions gives
// it.
StickLayout LayoutOf(const std::vector<int64_t>& shape, DataFormat format,
                     const std::vector<int64_t>& device_size,
                     const std::vector<int64_t>& stride_map, const std::string& where);

}  // namespace spyre::cosim
