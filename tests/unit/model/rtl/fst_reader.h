// SPDX-License-Identifier: Apache-2.0
// What an FST file says, read with the reader that comes with Verilator's writer.
#pragma once

#include <gtkwave/fstapi.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace spyre::model::test {

struct FstFile {
  bool readable = false;
  int timescale = 0;  // power of ten, in seconds
  uint64_t start = 0, end = 0;
  // By hierarchical name; values are bits, most significant first.
  using Changes = std::vector<std::pair<uint64_t, std::string>>;
  std::map<std::string, Changes> signals;
};

inline FstFile ReadFst(const std::string& path) {
  FstFile file;
  void* reader = fstReaderOpen(path.c_str());
  if (reader == nullptr) return file;
  file.readable = true;
  file.timescale = fstReaderGetTimescale(reader);
  file.start = fstReaderGetStartTime(reader);
  file.end = fstReaderGetEndTime(reader);

  std::map<fstHandle, FstFile::Changes> changes;
  fstReaderSetFacProcessMaskAll(reader);
  fstReaderIterBlocks(
      reader,
      [](void* all, uint64_t time, fstHandle handle, const unsigned char* value) {
        (*static_cast<std::map<fstHandle, FstFile::Changes>*>(all))[handle].emplace_back(
            time, reinterpret_cast<const char*>(value));
      },
      &changes, nullptr);

  std::vector<std::string> scopes = {""};
  fstReaderIterateHierRewind(reader);
  while (const fstHier* item = fstReaderIterateHier(reader)) {
    if (item->htyp == FST_HT_SCOPE) {
      scopes.push_back(scopes.back() + item->u.scope.name + ".");
    } else if (item->htyp == FST_HT_UPSCOPE) {
      scopes.pop_back();
    } else if (item->htyp == FST_HT_VAR) {
      const std::string name = item->u.var.name;
      file.signals[scopes.back() + name.substr(0, name.find(' '))] = changes[item->u.var.handle];
    }
  }
  fstReaderClose(reader);
  return file;
}

}  // namespace spyre::model::test
