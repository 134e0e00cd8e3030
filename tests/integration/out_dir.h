// SPDX-License-Identifier: Apache-2.0
// Where a test's run writes.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace spyre::test {

// Runs of one test case overwrite each other's files.
inline std::string OutDir() { return ::testing::TempDir() + "out"; }

}  // namespace spyre::test
