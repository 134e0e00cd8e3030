// SPDX-License-Identifier: Apache-2.0
// Whole runs of lists of operations, whose files are compared with loops over the inputs that they
// wrote. One run in a test has a directory of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/integration/npy_values.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test {

class ListFixture : public ProgramFixture {
 protected:
  // Runs the list with its inputs written out beside its outputs.
  void Run(const std::string& list, const std::string& options = "") {
    Write("list.json", list);
    const Outcome outcome = Call("run list.json --out out --set output.inputs=true " + options);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    ASSERT_THAT(outcome.out, ::testing::HasSubstr("verified: "));
  }
  std::vector<double> Values(const std::string& name) const {
    return NpyValues(dir_ + "/out/" + name + ".npy");
  }
};

// The greatest difference, as a part of the greatest value.
inline double Off(const std::vector<double>& got, const std::vector<double>& expected) {
  double off = 0, largest = 0;
  EXPECT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    off = std::max(off, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return off / largest;
}

}  // namespace spyre::test
