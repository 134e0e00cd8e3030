// SPDX-License-Identifier: Apache-2.0
// The directory that a run writes to. While this lives the directory is locked, so that two runs at
// once cannot mix their files; the lock is a file in it, and ends with the process whatever
// happens. Single thread. Errors: Error(kBadInput).
#pragma once

#include <string>
#include <vector>

namespace spyre::cosim {

// Files that a run may write whatever it runs, and pages of its trace.
std::vector<std::string> FilesOfAnyRun();

class OutputDirectory {
 public:
  // Makes and locks it.
  explicit OutputDirectory(const std::string& path);
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // Removes what an earlier run left under these names and would be taken for this run's. A
  // directory loses the files that a program has, and goes if nothing else is in it. Throws before
  // anything is removed if one of `inputs` is among the files, or inside a directory of them.
  void Clear(const std::vector<std::string>& names, const std::vector<std::string>& inputs) const;

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace spyre::cosim
