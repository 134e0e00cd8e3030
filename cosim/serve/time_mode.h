// SPDX-License-Identifier: Apache-2.0
// How the time of a served card moves.
#pragma once

#include <cstdint>

namespace spyre::cosim {

enum class TimeMode {
  kFree,      // whenever the card has something to do
  kLockstep,  // only when every client waits for the card
  kPaced,     // as free, and never faster than wall time allows
};

inline const char* Name(TimeMode mode) {
  switch (mode) {
    case TimeMode::kFree:
      return "free";
    case TimeMode::kLockstep:
      return "lockstep";
    case TimeMode::kPaced:
      return "paced";
  }
  return "";
}

}  // namespace spyre::cosim
