// SPDX-License-Identifier: Apache-2.0
// The card's serial flash: a sector is erased to all ones, a page is programmed by clearing bits.
// Knows no time (BootLogic charges it) and no meaning of what it holds (FirmwareSlots does).
//
// Its contents are in memory, or in a file of just these bytes, into which every operation goes at
// once: what a program leaves that is ended in the middle of an update is what a card would have
// after its power was cut. One owner, any one thread.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spyre::model {

struct FlashOperation {
  uint32_t address = 0;            // of a sector to erase, of the first byte to program
  std::vector<uint8_t> data = {};  // to program, inside one page; empty: erase
  bool erases() const { return data.empty(); }
};

class Flash {
 public:
  // `path` "": in memory, erased. Throws Error(kBadInput) for a file that cannot be used, has
  // another size, or belongs to another card that runs.
  Flash(const std::string& path, uint32_t bytes);
  ~Flash();
  Flash(const Flash&) = delete;
  Flash& operator=(const Flash&) = delete;

  // No file was there: the contents are all ones.
  bool is_new() const { return is_new_; }
  const std::vector<uint8_t>& contents() const { return contents_; }
  bool IsBlank(uint32_t address, uint32_t bytes) const;

  // Nothing happens while there is no power. Throws Error(kBadInput) if the file cannot be written.
  void Do(const FlashOperation& operation);
  uint64_t operations() const { return operations_; }  // done since it was made

  // Power goes in the middle of the operation that comes after `operations` more, when `eighths` of
  // its bytes have changed.
  void CutPower(uint64_t operations, unsigned eighths);
  bool powered() const { return powered_; }
  void RestorePower();

 private:
  [[noreturn]] void Refuse(const std::string& why);
  void Store(uint32_t address, size_t bytes);

  struct Cut {
    uint64_t at;
    unsigned eighths;
  };
  const std::string path_;
  int file_ = -1;
  bool is_new_ = true;
  bool powered_ = true;
  uint64_t operations_ = 0;
  std::optional<Cut> cut_;
  std::vector<uint8_t> contents_;
};

}  // namespace spyre::model
