// SPDX-License-Identifier: Apache-2.0
// The command line of spyre-cosim: subcommands, their options, exit statuses.
#pragma once

namespace spyre::cosim {

// Runs one command and returns the exit status: 0 done and verified, 1 verification failed, 2 bad
// input, 3 device fault, hang or lost device. Messages go to stderr. At most one SystemC simulation
// runs per process, so at most one `run`.
int RunCommandLine(int argc, char** argv);

}  // namespace spyre::cosim
