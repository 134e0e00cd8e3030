// SPDX-License-Identifier: Apache-2.0
// Elements as the card stores them, for the reference of bundles: what their bits are worth, which
// bits are nearest to a number, and where a host tensor's elements lie in its device image. Written
// from the definitions of formats and layouts; shares nothing with the model. Pure functions, any
// thread. Errors: Error(kBadInput) for formats without a public definition.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "model/contract/formats.h"
#include "model/contract/stick_layout.h"

namespace spyre::cosim {

int DeviceElementBytes(DataFormat format);  // BadInput for formats below a byte

// The bits of one element at `data`, little endian, and back.
uint32_t LoadBits(const uint8_t* data, int bytes);
void StoreBits(uint32_t bits, uint8_t* data, int bytes);

double DeviceValue(DataFormat format, uint32_t bits);  // exact
// One rounding from `value`. Integers: nearest even, saturating, NaN is 0.
uint32_t DeviceBits(DataFormat format, double value);

// Byte offsets in the device image: that of host element (i0, i1, ...) is the sum of
// table[d][i_d].
std::vector<std::vector<int64_t>> HostOffsets(const StickLayout& layout);

// The device image of a host tensor, padding zero, and back.
std::vector<uint8_t> ToDeviceImage(const StickLayout& layout, DataFormat host_format,
                                   const HostData& data);
HostData FromDeviceImage(const StickLayout& layout, DataFormat host_format,
                         const std::vector<uint8_t>& image);

}  // namespace spyre::cosim
