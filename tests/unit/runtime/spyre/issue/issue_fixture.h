// SPDX-License-Identifier: Apache-2.0
// Tasks on a card without SystemC, for tests of the issuers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runtime/spyre/issue/issue.h"
#include "tests/unit/driver/fake_card.h"

namespace spyre::runtime {

inline constexpr uint64_t kBytes = 128;

// Tasks over small buffers: a fill writes one, a copy out reads one into host memory.
class IssueTest : public testing::Test {
 protected:
  SpyreTensor NewBuffer() { return AllocateTensor(context, {64}); }
  IssuedTask Fill(const std::string& name, const SpyreTensor& buffer, uint64_t value) {
    return {name, Unit::kDmaIn, {{buffer, Access::kOut}}, [=](SpyreStream& stream) {
              stream.flex_stream().Fill(buffer.device_handle, kBytes, value);
            }};
  }
  IssuedTask ReadOut(const std::string& name, const SpyreTensor& buffer, uint64_t* host) {
    return {name, Unit::kDmaOut, {{buffer, Access::kIn}}, [=](SpyreStream& stream) {
              stream.flex_stream().CopyFromDevice(host, buffer.device_handle, kBytes);
            }};
  }
  int Executed(Opcode opcode) const {
    return static_cast<int>(std::count_if(
        card.executed.begin(), card.executed.end(),
        [&](const auto& done) { return static_cast<Opcode>(done.block.opcode) == opcode; }));
  }

  test::FakeCard card;
  flex::RuntimeContext context{card, 0};
};

}  // namespace spyre::runtime
