// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/task_list.h"

#include <gtest/gtest.h>

namespace spyre::cosim::task_list_test {
namespace {

using Tasks = std::vector<uint64_t>;

TEST(TaskList, NeighboursAreARange) {
  EXPECT_EQ(FormatTasks({1, 2, 3, 4, 7, 9, 10}), "1-4,7,9-10");
  EXPECT_EQ(FormatTasks({5}), "5");
  EXPECT_EQ(FormatTasks({}), "");
}

TEST(TaskList, WhatSlurmPrintsIsRead) {
  EXPECT_EQ(ParseTasks("1-4,7,9-10"), (Tasks{1, 2, 3, 4, 7, 9, 10}));
  EXPECT_EQ(ParseTasks("12"), Tasks{12});
  EXPECT_EQ(ParseTasks("[3-5%2]"), (Tasks{3, 4, 5}));
  EXPECT_EQ(ParseTasks("3-5%2"), (Tasks{3, 4, 5}));
}

TEST(TaskList, OtherTextsNameNoTask) {
  for (const char* text : {"", "N/A", "1-", "4-1", "1,,2", "[1-2", "1-99999999999", "-1", "1;2"})
    EXPECT_EQ(ParseTasks(text), Tasks{}) << text;
}

}  // namespace
}  // namespace spyre::cosim::task_list_test
