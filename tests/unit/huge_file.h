// SPDX-License-Identifier: Apache-2.0
// A file of 6 GiB that takes no room on the disk: what is written at its start, and zeros. Reading
// all of it takes memory that a reader must not take before it knows what it reads.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace spyre {

class HugeFile {
 public:
  explicit HugeFile(const std::string& name, const std::string& start = "",
                    uint64_t bytes = kBytes) {
    const std::string directory = fmt::format("out/tmp/huge_file_{}", getpid());
    std::filesystem::create_directories(directory);
    path_ = directory + "/" + name;
    std::ofstream(path_, std::ios::binary) << start;
    std::filesystem::resize_file(path_, bytes);
    before_ = PeakBytes();
  }
  ~HugeFile() { std::filesystem::remove(path_); }
  HugeFile(const HugeFile&) = delete;
  HugeFile& operator=(const HugeFile&) = delete;

  static constexpr uint64_t kBytes = 6ull << 30;
  const std::string& path() const { return path_; }
  // Of resident memory, since the file was made.
  uint64_t PeakGrowthBytes() const { return PeakBytes() - before_; }

 private:
  static uint64_t PeakBytes() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) << 10;
  }

  std::string path_;
  uint64_t before_ = 0;
};

}  // namespace spyre
