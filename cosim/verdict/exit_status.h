// SPDX-License-Identifier: Apache-2.0
// Exit statuses of the program, the same for all commands.
#pragma once

namespace spyre::cosim {

enum ExitStatus { kDone = 0, kWrong = 1, kBadInputStatus = 2, kFaultStatus = 3, kBugStatus = 4 };

constexpr const char* kExitText =
    "Exit status: 0 done and verified; 1 verification failed or [expect] not met; 2 bad input; "
    "3 device fault, hang or lost device; 4 an error in this program; 130 or 143 interrupted.";

constexpr int kSignalStatus = 128;  // and the number of the signal that ended the command

}  // namespace spyre::cosim
