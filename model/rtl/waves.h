// Waves of one RTL block: an FST file with picoseconds of simulated time as its time base, from `from_ps` to `to_ps`
// (a bounded window, so that files stay small). Not for several threads.
#pragma once

#include <verilated_fst_c.h>

#include <cstdint>
#include <string>

namespace spyre::model {

class Waves {
 public:
  // The file is made at the first dump inside the window.
  Waves(std::string path, uint64_t from_ps, uint64_t to_ps)
      : path_(std::move(path)), from_ps_(from_ps), to_ps_(to_ps) {}
  ~Waves() { Close(); }
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  // Before the first evaluation of the Verilated `model`; its context must have traceEverOn(true).
  template <class Model>
  void Attach(Model& model) {
    model.trace(&fst_, 99);
  }
  bool Wants(uint64_t ps) const { return ps >= from_ps_ && ps <= to_ps_; }
  // The signals as they are now, at `ps`; times must not go back.
  void Dump(uint64_t ps) {
    if (!Wants(ps)) return;
    if (!fst_.isOpen()) {
      fst_.set_time_unit("1ps");
      fst_.set_time_resolution("1ps");
      fst_.open(path_.c_str());
    }
    fst_.dump(ps);
  }
  void Close() {
    if (fst_.isOpen()) fst_.close();
  }

 private:
  std::string path_;
  uint64_t from_ps_, to_ps_;
  VerilatedFstC fst_;
};

}  // namespace spyre::model
