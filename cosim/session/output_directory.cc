// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/output_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".lock";

// Whether `inner` is `outer` or lies inside it.
bool IsWithin(const fs::path& inner, const fs::path& outer) {
  std::error_code error;
  const fs::path in = fs::weakly_canonical(inner, error), out = fs::weakly_canonical(outer, error);
  return std::mismatch(out.begin(), out.end(), in.begin(), in.end()).first == out.end();
}

constexpr const char* kProgramName = "spyrecode";

// SpyreCode is three files; a workload of several kernels has a directory for each.
void RemoveProgram(const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      RemoveProgram(entry.path());
      continue;
    }
    const std::string name = entry.path().filename().string();
    if (name == "spyrecode.json" || name == "init_binary.bin" || name == "hcm.json")
      fs::remove(entry.path(), ignored);
  }
  fs::remove(directory, error);  // only if it is empty
}

}  // namespace

std::vector<std::string> FilesOfAnyRun() {
  // Pages that `trace report` made are of a trace that is about to go.
  std::vector<std::string> names = {"report.json", "trace.sctrace", "trace.html",
                                    "trace.compared.html"};
  for (const char* block : {"control", "management", "pt"}) {
    names.push_back(fmt::format("waves_{}.fst", block));
    names.push_back(fmt::format("waves_{}_earlier.fst", block));
  }
  return names;
}

OutputDirectory::OutputDirectory(const std::string& path) : path_(path) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_)) {
    throw BadInput("--out {}: cannot make the directory: {}", path_,
                   fs::exists(path_) ? "there is a file of that name" : error.message());
  }
  const std::string lock = path_ + "/" + kLockName;
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw BadInput("--out {}: cannot write there: {}", path_, std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  close(lock_);
  if (reason != EWOULDBLOCK)
    throw BadInput("--out {}: cannot lock {}: {}", path_, lock, std::strerror(reason));
  throw BadInput("--out {}: another run is writing to this directory; give this one another", path_)
      .Subject(path_)
      .Remedy("another directory");
}

OutputDirectory::~OutputDirectory() { close(lock_); }

void OutputDirectory::Clear(const std::vector<std::string>& names,
                            const std::vector<std::string>& inputs) const {
  for (const std::string& name : names) {
    const fs::path file = fs::path(path_) / name;
    for (const std::string& input : inputs) {
      if (input.empty() || !fs::exists(input) || !IsWithin(input, file)) continue;
      throw BadInput("--out {}: the run would overwrite its own input {}; give another directory",
                     path_, input)
          .Subject(path_)
          .Value(input)
          .Remedy("another directory");
    }
  }
  std::error_code error;
  for (const std::string& name : names) {
    const fs::path file = fs::path(path_) / name;
    if (name == kProgramName && fs::is_directory(file, error) && !fs::is_symlink(file, error)) {
      RemoveProgram(file);
    } else {
      fs::remove(file, error);
    }
  }
}

}  // namespace spyre::cosim
