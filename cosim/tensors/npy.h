// SPDX-License-Identifier: Apache-2.0
// NumPy .npy files, versions 1 and 2: host tensors on disk. Pure functions, any thread.
//
// C order, little endian; anything else is refused with a message. Files are not trusted: sizes are
// checked before memory is taken. Errors: Error(kBadInput), naming the file, what it has and what
// would be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::cosim {

// `dtype` is NumPy's type string without the byte order: "f2" (float16), "f4", "f8", "i1" .. "i8",
// "u1" .. "u8", "b1". bfloat16 has no NumPy type.
struct NpyArray {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;  // elements in C order

  int64_t elements() const;
};

// "float16" for "f2" and so on; for messages.
std::string NpyTypeName(const std::string& dtype);

NpyArray ReadNpy(const std::string& path);
// Reads and requires this type and shape; `what` names the tensor in the message ("input a").
NpyArray ReadNpy(const std::string& path, const std::string& what, const std::string& dtype,
                 const std::vector<int64_t>& shape);
// Parses a whole file held in memory; `path` is for messages.
NpyArray ParseNpy(const std::vector<uint8_t>& file, const std::string& path);

// Writes version 1. `data`: the elements in C order. Replaces an existing file.
void WriteNpy(const std::string& path, const std::string& dtype, const std::vector<int64_t>& shape,
              const void* data);

// "[4096, 1024]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace spyre::cosim
