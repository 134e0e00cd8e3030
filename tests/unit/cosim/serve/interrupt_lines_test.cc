// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/interrupt_lines.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "driver/vfio_user_protocol.h"

namespace spyre::cosim::interrupt_lines_test {
namespace {

namespace protocol = driver::vfio_user;

class InterruptLinesTest : public ::testing::Test {
 protected:
  int Set(uint32_t flags, uint32_t start, uint32_t count, const std::string& data = "",
          int eventfds = 0) {
    std::vector<Descriptor> descriptors;
    for (int i = 0; i < eventfds; ++i) descriptors.emplace_back(dup(events_[i].get()));
    const protocol::IrqSet set{sizeof(set), flags, protocol::kMsiIrq, start, count};
    return lines_.Set(std::string(protocol::BytesOf(set)) + data, std::move(descriptors));
  }
  // Since the last call.
  uint64_t Count(int event) {
    uint64_t count = 0;
    const ssize_t n = read(events_[event].get(), &count, sizeof(count));
    return n == sizeof(count) ? count : 0;
  }

  static constexpr uint32_t kEvents = protocol::kIrqDataEventfd | protocol::kIrqTrigger;
  Descriptor events_[2] = {Descriptor(eventfd(0, EFD_NONBLOCK)),
                           Descriptor(eventfd(0, EFD_NONBLOCK))};
  InterruptLines lines_;
};

TEST_F(InterruptLinesTest, AVectorWithAnEventIsHeardAndOthersAreNot) {
  lines_.Raise(3);
  EXPECT_EQ(Set(kEvents, 3, 2, "", 2), 0);
  lines_.Raise(3);
  lines_.Raise(4);
  lines_.Raise(4);
  lines_.Raise(5);
  EXPECT_EQ(Count(0), 1u);
  EXPECT_EQ(Count(1), 2u);
}

TEST_F(InterruptLinesTest, EventsAreTakenAwayOneByOneOrAllAtOnce) {
  EXPECT_EQ(Set(kEvents, 0, 2, "", 2), 0);
  EXPECT_EQ(Set(kEvents, 0, 1), 0) << "no descriptor: this one is off";
  lines_.Raise(0);
  lines_.Raise(1);
  EXPECT_EQ(Count(0), 0u);
  EXPECT_EQ(Count(1), 1u);
  EXPECT_EQ(Set(protocol::kIrqDataNone | protocol::kIrqTrigger, 0, 0), 0);
  lines_.Raise(1);
  EXPECT_EQ(Count(1), 0u);
}

TEST_F(InterruptLinesTest, AClientRaisesAndMasksByItself) {
  EXPECT_EQ(Set(kEvents, 0, 2, "", 2), 0);
  EXPECT_EQ(Set(protocol::kIrqDataBool | protocol::kIrqTrigger, 0, 2, std::string("\0\1", 2)), 0);
  EXPECT_EQ(Count(0), 0u);
  EXPECT_EQ(Count(1), 1u);
  EXPECT_EQ(Set(protocol::kIrqDataNone | protocol::kIrqMask, 0, 2), 0);
  lines_.Raise(0);
  lines_.Raise(0);
  EXPECT_EQ(Count(0), 0u);
  EXPECT_EQ(Set(protocol::kIrqDataNone | protocol::kIrqUnmask, 0, 2), 0);
  EXPECT_EQ(Count(0), 1u) << "what came meanwhile";
  EXPECT_EQ(Count(1), 0u);
}

TEST_F(InterruptLinesTest, AFullEventDoesNotHoldTheServer) {
  events_[0] = Descriptor(eventfd(0, 0));  // a blocking one
  EXPECT_EQ(Set(kEvents, 0, 1, "", 1), 0);
  const uint64_t full = UINT64_MAX - 1;
  ASSERT_EQ(write(events_[0].get(), &full, sizeof(full)), 8);
  lines_.Raise(0);
}

TEST_F(InterruptLinesTest, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(Set(kEvents, 7, 2, "", 2), EINVAL);
  EXPECT_EQ(Set(kEvents, 8, 1, "", 1), EINVAL);
  EXPECT_EQ(Set(kEvents, 0, UINT32_MAX), EINVAL);
  EXPECT_EQ(Set(kEvents, 0, 1, "", 2), EINVAL);
  EXPECT_EQ(Set(kEvents | protocol::kIrqMask, 0, 1), EINVAL);
  EXPECT_EQ(Set(kEvents | protocol::kIrqDataNone, 0, 1), EINVAL);
  EXPECT_EQ(Set(kEvents | 0x40, 0, 1), EINVAL);
  EXPECT_EQ(Set(protocol::kIrqDataNone | protocol::kIrqTrigger, 1, 0), EINVAL);
  EXPECT_EQ(Set(protocol::kIrqDataBool | protocol::kIrqTrigger, 0, 2, "a"), EINVAL);
  EXPECT_EQ(Set(protocol::kIrqDataNone | protocol::kIrqTrigger, 0, 1, "", 1), EINVAL);
  EXPECT_EQ(lines_.Set("short", {}), EINVAL);
}

}  // namespace
}  // namespace spyre::cosim::interrupt_lines_test
