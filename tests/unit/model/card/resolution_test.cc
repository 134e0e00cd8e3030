// SPDX-License-Identifier: Apache-2.0
// The card counts in picoseconds: in a simulation with another resolution it would be wrong by
// powers of ten, so it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/card/card.h"

namespace spyre::model::resolution_test {
namespace {

class Resolution : public ::testing::TestWithParam<sc_core::sc_time_unit> {};

TEST_P(Resolution, OtherThanAPicosecondIsRefused) {
  sc_core::sc_set_time_resolution(1, GetParam());
  try {
    const Card card("card", CardConfig{}, nullptr);
    FAIL() << "a card was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the card needs 1 ps"));
  }
}
INSTANTIATE_TEST_SUITE_P(Units, Resolution, ::testing::Values(sc_core::SC_FS, sc_core::SC_NS));

TEST(ResolutionOfTheDefault, IsTaken) { EXPECT_NO_THROW(Card("card", CardConfig{}, nullptr)); }

}  // namespace
}  // namespace spyre::model::resolution_test
