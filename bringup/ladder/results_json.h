// SPDX-License-Identifier: Apache-2.0
// The results of a ladder as JSON, and as JUnit's XML, which continuous integration reads. Pure
// functions, any thread. docs/bringup.md describes the fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bringup/ladder/results.h"

namespace spyre::bringup {

nlohmann::ordered_json ToJson(const LadderResult& result);

// A test that could not run is `skipped`. What was measured is in the test case's `system-out`.
std::string ToJunit(const LadderResult& result);

// Text with the five characters that XML and HTML reserve written as entities, and what XML cannot
// hold as '?'.
std::string Escaped(const std::string& text);

}  // namespace spyre::bringup
