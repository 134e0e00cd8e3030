// SPDX-License-Identifier: Apache-2.0
// The files of this folder that pages are made of, as the build put them into the program. Any
// thread.
#pragma once

namespace spyre::cosim {

extern const char* const kPageTemplate;  // page.html
extern const char* const kPlotsScript;   // plots.js
extern const char* const kSweepScript;   // sweep.js: draw(page, data) of a sweep
extern const char* const kTuneScript;    // tune.js: draw(page, data) of `tune`

}  // namespace spyre::cosim
