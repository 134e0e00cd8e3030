// SPDX-License-Identifier: Apache-2.0
#include "model/rtl/waves.h"

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace spyre::model {

namespace fs = std::filesystem;

Waves::Waves(std::string path, const WaveWindow& window)
    : path_(std::move(path)),
      earlier_path_(path_.substr(0, path_.rfind(".fst")) + "_earlier.fst"),
      window_(window) {
  // What an earlier run left would be taken for this one's.
  Discard();
}

Waves::~Waves() { Close(); }

void Waves::Open() {
  if (!std::ofstream(path_)) throw BadInput("waves: cannot write {}", path_);
  file_ = open_(path_);  // a file for each: a writer would refer to the variables of its first
  dumps_ = 0;
}

void Waves::DumpWanted(uint64_t ps) {
  if (file_ != nullptr && window_.rolling_dumps != 0 && dumps_ == window_.rolling_dumps) {
    Close();
    fs::rename(path_, earlier_path_);
  }
  if (file_ == nullptr) Open();
  file_->Dump(ps);
  ++dumps_;
}

void Waves::Close() { file_.reset(); }

void Waves::Discard() {
  Close();
  std::error_code ignored;
  fs::remove(path_, ignored);
  fs::remove(earlier_path_, ignored);
}

std::vector<std::string> Waves::Files() const {
  std::vector<std::string> files;
  for (const std::string& path : {earlier_path_, path_}) {
    if (fs::exists(path)) files.push_back(path);
  }
  return files;
}

}  // namespace spyre::model
