// SPDX-License-Identifier: Apache-2.0
// What the writer of a driver wants to be told: addresses that it has touched and that the
// specification does not have, and a register that it reads again and again without a change. Of
// one client of one function. Kernel thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace spyre::cosim {

class AccessWatch {
 public:
  static constexpr uint64_t kSpins = 1000;  // equal reads in a row that are worth a line

  // A register of BAR0, at an offset that is a multiple of 4. Spun: `value` has been read kSpins
  // times, or ten times as often as when that was said last, and nothing else was done.
  bool Read(uint64_t offset, uint32_t value, uint64_t now_ps, bool physical);
  void Write(uint64_t offset, bool physical);
  void Else() { spins_ = 0; }  // an access to something else

  // "STATUS (BAR0 0x0014) 1000 times in 1.3 ms, always 0x00000000: READY is 0, BUSY is 0"
  std::string SpinText(uint64_t now_ps) const;

  // At the end of a client: one line for each address, empty if there is none; forgets everything.
  std::string TakeUnknown();

 private:
  static constexpr size_t kMaxUnknown = 64;  // further ones are only counted
  struct Touched {
    uint64_t reads = 0, writes = 0;
  };
  Touched* Unknown(uint64_t offset, bool physical);

  std::map<uint64_t, Touched> unknown_;
  uint64_t further_ = 0;
  uint64_t spins_ = 0, said_ = 0, offset_ = 0, since_ps_ = 0;
  uint32_t value_ = 0;
};

}  // namespace spyre::cosim
