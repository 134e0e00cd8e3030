// SPDX-License-Identifier: Apache-2.0
// Tensors of the host: which element formats .npy files and the card have in common, and what an
// element is worth. Pure functions, any thread. Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::cosim {

// Elements in C order, little endian.
using HostData = std::vector<uint8_t>;

struct HostFormat {
  DataFormat format;
  const char* npy;   // NumPy's type string without the byte order
  const char* name;  // "float16"
  int bytes;
};

// The formats that a tensor of a run may have on the host.
const std::vector<HostFormat>& HostFormats();
const HostFormat& HostFormatOf(DataFormat format);           // BadInput: not a format of the host
const HostFormat& HostFormatNamed(const std::string& name);  // BadInput with the nearest name

// The bits of element `index`, and what they are worth.
uint64_t HostBits(DataFormat format, const uint8_t* data, int64_t index);
double HostValue(DataFormat format, uint64_t bits);
// Stores the element nearest to `value`.
void StoreHost(DataFormat format, double value, uint8_t* data, int64_t index);
// The same for `count` elements from `index` on.
void StoreHost(DataFormat format, const double* values, int64_t count, uint8_t* data,
               int64_t index);

}  // namespace spyre::cosim
