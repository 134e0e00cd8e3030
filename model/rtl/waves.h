// Waves of one RTL block: an FST file with picoseconds of simulated time as its time base, for a
// bounded window of time or, rolling, of the last clocks before the end. Not for several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

class VerilatedFstC;

namespace spyre::model {

struct WaveWindow {
  uint64_t from_ps = 0, to_ps = UINT64_MAX;
  // Not 0: no more than this many dumps go into a file, and of the files only the last two stay:
  // `path`, and before it the one called *_earlier.fst.
  uint64_t rolling_dumps = 0;
};

class Waves {
 public:
  // `path` ends in .fst. The file is made at the first dump inside the window.
  Waves(std::string path, const WaveWindow& window);
  ~Waves();
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  // The Verilated model whose signals they are; its context must have traceEverOn(true), and it
  // must live until the last dump. Once.
  template <class Model>
  void Attach(Model& model) {
    attach_ = [&model](VerilatedFstC* fst) { model.trace(fst, 99); };
  }
  bool Wants(uint64_t ps) const { return ps >= window_.from_ps && ps <= window_.to_ps; }
  // The signals as they are now, at `ps`; times must not go back. Throws Error(kBadInput) if the
  // file cannot be written.
  void Dump(uint64_t ps) {
    if (Wants(ps)) DumpWanted(ps);
  }
  // Ends the file; the model is no longer needed.
  void Close();
  // Closes, and removes what was written.
  void Discard();
  // What was written, in order of time; empty if no dump was inside the window.
  std::vector<std::string> Files() const;

 private:
  void DumpWanted(uint64_t ps);
  void Open();

  const std::string path_, earlier_path_;
  const WaveWindow window_;
  std::function<void(VerilatedFstC*)> attach_;
  std::unique_ptr<VerilatedFstC> fst_;
  uint64_t dumps_ = 0;  // in the open file
};

}  // namespace spyre::model
