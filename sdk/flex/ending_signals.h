// SPDX-License-Identifier: Apache-2.0
// A program that is told to end by a signal, and has not said what it does then, ends at once and
// without the functions that exit() calls. What it did on the card would be lost. Any thread, once.
#pragma once

namespace spyre::sdk {

// On the first SIGTERM, SIGHUP or SIGINT whose action is the default one, `finish` is called from a
// thread of its own; then the signal ends the process, as it would have. A further signal does not
// wait for it. Children that are forked keep the default action.
void FinishOnSignals(void (*finish)());

}  // namespace spyre::sdk
