// SPDX-License-Identifier: Apache-2.0
// How far to trust the time of a run: how near kernels of its kind are to measured times of real
// cards. Pure functions, any thread. Source: docs/accuracy.md, whose table a test holds against the
// figures here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// A family of kernels of which times of real cards are public.
struct MeasuredFamily {
  const char* name;     // as `calibrate` calls it
  const char* kernels;  // "matmul, 32 cores"
  int points = 0;       // measured kernels that were compared
  int permille = 0;     // two of three of them are nearer than that to the card's time
  int shortest_us = 0;  // of them; nothing is known of shorter ones
};
const std::vector<MeasuredFamily>& MeasuredFamilies();

// How the measured matmuls were divided. Of one operation, divisions of as many cores differ in
// what they read, and a division that nobody measured is known less well than its family.
struct MeasuredDivision {
  int m = 1, n = 1, k = 1;  // slices
  int points = 0;           // measured kernels
};
const std::vector<MeasuredDivision>& MeasuredDivisions();

// Of a run: the family, or why there is none. It is about times of kernels: nobody compared the
// times around them, of launches and of the host.
struct Trust {
  const MeasuredFamily* family = nullptr;
  std::string reason;
  // Of a matmul, measured kernels that were divided as this one; empty: of others.
  std::optional<int> as_divided;
  double kernel_share = 0;  // of the launch window that the kernels take
};
Trust TrustOf(const RunResult& result);
std::string TrustText(const RunResult& result);  // a line
nlohmann::ordered_json TrustJson(const RunResult& result);

}  // namespace spyre::cosim
