// SPDX-License-Identifier: Apache-2.0
// The numbers of a float16 .npy file.
#pragma once

#include <string>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "cosim/tensors/npy.h"

namespace spyre::test {

inline std::vector<double> NpyValues(const std::string& path) {
  const cosim::NpyArray array = cosim::ReadNpy(path);
  std::vector<double> values;
  for (int64_t i = 0; i < array.elements(); ++i)
    values.push_back(cosim::HostValue(
        DataFormat::kIeeeFp16, cosim::HostBits(DataFormat::kIeeeFp16, array.data.data(), i)));
  return values;
}

}  // namespace spyre::test
