// SPDX-License-Identifier: Apache-2.0
// The journal of a sweep: a file of JSON lines that only grows. The first line says which sweep it
// is, each further one is the result of one point. A line is written by one call, so a sweep that
// is killed loses at most the points under way. Lines that follow each other within a tenth of a
// second go to the disk together, and a power cut may lose them; the torn line that it or a full
// disk may leave is cut off when the journal is opened again.
//
// One process writes a journal, which holds its lock; any may read it. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spyre::cosim {

struct JournalHeader {
  std::string digest;   // of the sweep (expand.h)
  uint64_t points = 0;  // of all shards
  std::string build;    // of the program: results of different ones are not mixed
};

// Its rows, without the header and without a torn last line. A file that is not there, or in which
// no line is whole, has none. Throws Error(kBadInput) if it is the journal of something else,
// naming what differs, or if a line before the last is damaged.
std::vector<nlohmann::ordered_json> ReadJournal(const std::string& path,
                                                const JournalHeader& header);

class Journal {
 public:
  // Makes the file with its header, or opens it behind its last whole line. Throws Error(kBadInput)
  // as ReadJournal, if another process writes it, or if it cannot be written.
  Journal(std::string path, const JournalHeader& header);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Throws Error(kBadInput) if not all of the row could be written.
  void Append(const nlohmann::ordered_json& row);
  // In a child process, which must not hold what its parent, if it is killed, should let go.
  void CloseInChild();

 private:
  std::string path_;
  int file_ = -1;
  std::chrono::steady_clock::time_point synced_;  // when all was on the disk last
};

}  // namespace spyre::cosim
