// SPDX-License-Identifier: Apache-2.0
// The data of a decoder stack that follow from its sizes: rotary embedding and mask, as float16 on
// the host. Any thread.
#pragma once

#include <memory>
#include <string>

#include "cosim/tensors/host_data.h"
#include "cosim/workload/decoder_stack.h"

namespace spyre::cosim {

class DecoderTables {
 public:
  explicit DecoderTables(const DecoderSizes& sizes) : sizes_(sizes) {}

  // "cos", "sin" [sequence, head_size]: of position p and element i of a head, of the angle
  // p * 10000 ^ (-2 (i mod head_size / 2) / head_size).
  // "rotation" [head_size, head_size]: by it, a head (a, b) of two halves becomes (-b, a).
  // "mask" [sequence, cache rows]: 0 where a token may look, else a number that leaves nothing of
  // exp: tokens see those before them and themselves, and nothing behind the context.
  std::shared_ptr<const HostData> Data(const std::string& name) const;

 private:
  double Angle(int64_t token, int64_t element) const;

  DecoderSizes sizes_;
};

}  // namespace spyre::cosim
