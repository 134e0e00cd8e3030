// SPDX-License-Identifier: Apache-2.0
// Commands of Slurm that are scripts of a test, first in PATH while this object lives.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"

namespace spyre::test {

class FakeSlurm {
 public:
  FakeSlurm() : path_(std::getenv("PATH")) {
    std::filesystem::create_directory(scratch_.path() + "/bin");
    setenv("PATH", (scratch_.path() + "/bin:" + path_).c_str(), 1);
  }
  ~FakeSlurm() { setenv("PATH", path_.c_str(), 1); }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;

  // body: what bash does when the command is called. $here is Path("").
  void Command(const std::string& name, const std::string& body) const {
    const std::string file = Path("bin/" + name);
    WriteFile(file, "#!/bin/bash\nhere='" + scratch_.path() + "'\n" + body + "\n", "command");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // No command but those of the test is found.
  void HideOthers() const { setenv("PATH", Path("bin").c_str(), 1); }

  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }
  std::string Read(const std::string& name) const { return ReadFile(Path(name), "file"); }
  bool Has(const std::string& name) const { return std::filesystem::exists(Path(name)); }

 private:
  const std::string path_;
  ScratchDirectory scratch_{"fake_slurm"};
};

}  // namespace spyre::test
