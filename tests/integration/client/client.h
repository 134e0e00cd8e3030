// SPDX-License-Identifier: Apache-2.0
// An application as users write them: linked with driver and runtime only, it neither includes nor
// links SystemC, and runs on whatever card the Transport leads to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "driver/transport.h"

namespace spyre::client {

struct Product {
  std::vector<uint16_t> out;      // float16, [m, n]
  uint64_t operations = 0;        // stream operations of the launch
  bool returned_at_once = false;  // the launch returned with work still outstanding
};

// Opens `function` of the card, loads the SpyreCode of a matmul, multiplies float16 a[m,k] and
// b[k,n], and brings the result back.
Product Multiply(driver::Transport& transport, driver::FunctionId function,
                 const std::filesystem::path& spyrecode, int64_t m, int64_t k, int64_t n,
                 const std::vector<uint16_t>& a, const std::vector<uint16_t>& b);

}  // namespace spyre::client
