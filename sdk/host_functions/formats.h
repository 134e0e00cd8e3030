// SPDX-License-Identifier: Apache-2.0
// From the types of the SDK's headers to the project's own. Pure functions, any thread.
// Errors: Error(kBadInput).
#pragma once

#include <spyrecode-host-functions/sendataconvert/sen_host_ops.h>

#include "model/contract/formats.h"
#include "model/contract/stick_layout.h"

namespace spyre::sdk {

DataFormat FormatOf(DataFormats format);
DataConversion ConversionOf(const data_conversion_info& info);

}  // namespace spyre::sdk
