// SPDX-License-Identifier: Apache-2.0
// What the host computations of launches have left behind for their copies: which addresses a
// correction input was made from, and how far the kernel writes there. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace spyre::sdk {

// How records name places: by physical address, or by region and offset. Physical by default; the
// runtime says so when it opens a card.
void SetPhysicalAddresses(bool physical);

struct CorrectedArguments {
  std::vector<int64_t> addresses;
  std::vector<uint64_t> written_bytes;  // from each address on
};

// Of the correction input that was written last to this host address, once; empty: there is none.
// The copy that takes it is the one that follows the computation.
std::optional<CorrectedArguments> TakeCorrectedArguments(const void* output);

}  // namespace spyre::sdk
