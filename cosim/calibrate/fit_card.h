// SPDX-License-Identifier: Apache-2.0
// Fits the card's numbers to measured kernel times, by the closed form (model/formula), so that it
// takes seconds. Numbers that card.toml calls a fit are candidates; those that the points do not
// determine stay as they are, each with the reason.
//
// Only points that are not held out (calibrate_points.h) are fitted to. No SystemC, any thread.
// Errors: Error(kBadInput) naming the point that has no closed form, or too few points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_points.h"

namespace spyre::cosim {

struct FittedKey {
  std::string key, unit;
  uint64_t before = 0, after = 0;
  double deviation = 0;        // standard, of its log: 0.01 is about one percent
  std::vector<size_t> points;  // whose times depend on it
};

struct HeldKey {
  std::string key;
  uint64_t value = 0;
  std::string reason;
};

struct CardFit {
  RunConfig card;  // the base with the fitted numbers
  size_t fitted_points = 0, held_out_points = 0;
  std::vector<FittedKey> fitted;
  std::vector<HeldKey> held;

  // Whether the timed model reads a number that was changed. Those of card.fast are the closed
  // form's alone.
  bool ChangesTimed() const;
};

// What the caller says of the numbers that the timed model reads too (card.core): empty, they are
// candidates; otherwise why they are held.
CardFit FitCard(const RunConfig& base, const std::vector<CalibrationPoint>& points,
                const std::string& hold_shared = "");

}  // namespace spyre::cosim
