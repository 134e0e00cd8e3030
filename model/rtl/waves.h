// SPDX-License-Identifier: Apache-2.0
// Waves of one RTL block: an FST file with picoseconds of simulated time as its time base, for a
// bounded window of time or, rolling, of the last clocks before the end. Must not be used by
// several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace spyre::model {

// One file of a block's signals, open until it is destroyed. The blocks make them.
class WaveFile {
 public:
  WaveFile() = default;
  virtual ~WaveFile() = default;
  WaveFile(const WaveFile&) = delete;
  WaveFile& operator=(const WaveFile&) = delete;
  // The signals as they are now.
  virtual void Dump(uint64_t ps) = 0;
};

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
  virtual ~Waves();
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  // Opens a file of the signals at a path; the block that it comes from must live until the last
  // dump. Once.
  using OpenFile = std::function<std::unique_ptr<WaveFile>(const std::string& path)>;
  void Attach(OpenFile open) { open_ = std::move(open); }
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
  virtual void DumpWanted(uint64_t ps);  // virtual: it is called from the module of the blocks
  void Open();

  const std::string path_, earlier_path_;
  const WaveWindow window_;
  OpenFile open_;
  std::unique_ptr<WaveFile> file_;
  uint64_t dumps_ = 0;  // in the open file
};

}  // namespace spyre::model
