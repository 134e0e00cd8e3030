// SPDX-License-Identifier: Apache-2.0
// How the data of a collective are cut.
#include "runtime/collectives/ring.h"

#include <gtest/gtest.h>

namespace spyre::runtime::ring_test {
namespace {

TEST(RingChunks, AreWholeSticksAndTogetherAll) {
  for (const size_t ranks : {1, 2, 3, 4, 8}) {
    for (const uint64_t sticks : {1, 2, 5, 8, 100, 1001}) {
      uint64_t end = 0;
      for (size_t chunk = 0; chunk < ranks; ++chunk) {
        const RingChunk place = ChunkOf(sticks * 128, ranks, chunk);
        EXPECT_EQ(place.offset, end) << "they follow each other";
        EXPECT_EQ(place.bytes % 128, 0u);
        EXPECT_LE(place.bytes, InboxBytes(sticks * 128, ranks) / 2) << "each fits half an inbox";
        end += place.bytes;
      }
      EXPECT_EQ(end, sticks * 128) << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace spyre::runtime::ring_test
