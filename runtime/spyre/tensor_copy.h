// SPDX-License-Identifier: Apache-2.0
// Tensors between host order and stick order on the device. The conversion runs on the host,
// through a staging buffer that lives until the copy has completed; the copy itself is an Operation
// with one CopyToDevice or CopyFromDevice for each chunk of the tensor (the runtime RFC, workflow
// 1).
//
// Callers: applications, cosim. Threads: any. `host_data` is the whole host tensor in
// layout.host_size / host_stride order, in elements of `host_format`. Errors: Error(kBadInput) if
// there is no conversion between the formats.
//
// In a timing-only run nothing is converted and host_data may be null.
#pragma once

#include <string>
#include <vector>

#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// Reads host_data before it returns; the copy then proceeds on the stream.
void CopyTensorToDevice(SpyreStream& stream, const SpyreTensor& tensor, const void* host_data,
                        DataFormat host_format, const std::string& label = {});

// Workflow 1 in one call: allocates, copies, returns the tensor.
SpyreTensor TensorFromHost(SpyreStream& stream, const StickLayout& layout, const void* host_data,
                           DataFormat host_format, const std::string& label = {});

// host_data is written when the copy completes: valid after stream.Synchronize(). It must stay
// valid until then; padding between host elements is left alone.
void CopyTensorFromDevice(SpyreStream& stream, const SpyreTensor& tensor, void* host_data,
                          DataFormat host_format, const std::string& label = {});

}  // namespace spyre::runtime
