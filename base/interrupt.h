// SPDX-License-Identifier: Apache-2.0
// Ending a command before its end: SIGINT, SIGTERM, or a limit of wall time. The signal only sets a
// flag; the work asks for it where it can stop, and unwinds by an exception, so that files and
// scratch directories are left in order. A second signal ends the process at once.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace spyre {

// It is nobody's error. The exit status is 128 + signal; of a limit, that of a device fault.
class Interruption : public Error {
 public:
  Interruption(int signal, const std::string& what)
      : Error(ErrorKind::kDeviceFault, what), signal_(signal) {}
  int signal() const { return signal_; }  // SIGALRM: the limit

 private:
  int signal_;
};

// Signals are caught from now on. limit_seconds is wall time from now, 0 for no limit. Main thread.
void CatchInterrupts(uint64_t limit_seconds);
// Called from the signal's handler, to make a long call return; null: nobody. It must be safe
// there.
void OnInterrupt(void (*wake)());
// Throws Interruption, once for each signal. Cheap; any thread.
void ThrowIfInterrupted();
// Whether it would throw.
bool IsInterrupted();
// The signal that was thrown last; 0: none. For whoever gets the error that a folder in between
// made of it, as the driver does of a transport that fails.
int LastInterruption();
// "interrupted by SIGINT"
std::string InterruptionText(int signal);

}  // namespace spyre
