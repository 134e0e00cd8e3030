// Where a channel-local address lives: bank, row and column. A policy of the card
// (memory.bank_mapping), used by the channel controller. Any thread.
//
// Data of a row is less than the page when check bytes share it (RowDataBytes). Banks are numbered
// group first: bank % groups is the bank group.
#pragma once

#include <cstdint>

#include "model/memory/lpddr5_timing.h"

namespace spyre::model {

struct BankAddress {
  uint32_t bank;
  uint32_t row;
  uint32_t column;  // byte of the row's data
};

class BankMap {
 public:
  explicit BankMap(const MemoryConfig& config)
      : row_blocks_(static_cast<uint32_t>(RowDataBytes(config) / config.interleave_bytes)),
        block_bytes_(static_cast<uint32_t>(config.interleave_bytes)),
        groups_(static_cast<uint32_t>(config.bank_groups)),
        banks_(static_cast<uint32_t>(config.bank_groups * config.banks_per_group)),
        interleaved_(config.bank_mapping != "row_bank_column"),
        hashed_(config.bank_mapping == "hash") {}

  uint32_t banks() const { return banks_; }
  // Consecutive bytes that share a row whatever the mapping.
  uint32_t block_bytes() const { return block_bytes_; }
  uint32_t groups() const { return groups_; }
  uint32_t GroupOf(uint32_t bank) const { return bank & (groups_ - 1); }

  // The bank that a per-bank refresh takes together with `first`: the same one of another group;
  // `first` itself if the channel has only one bank.
  uint32_t Partner(uint32_t first) const {
    return (first + (groups_ > 1 ? groups_ / 2 : banks_ / 2)) & (banks_ - 1);
  }
  // The first bank of refresh command `number` of a round.
  uint32_t RefreshBank(uint32_t number) const {
    const uint32_t half = groups_ > 1 ? groups_ / 2 : banks_;
    return number / half * groups_ + number % half;
  }

  BankAddress Locate(uint64_t address) const {
    const auto block = static_cast<uint32_t>(address / block_bytes_);
    const auto offset = static_cast<uint32_t>(address % block_bytes_);
    if (!interleaved_) {
      const uint32_t row_index = block / row_blocks_;
      return {row_index & (banks_ - 1), row_index / banks_,
              block % row_blocks_ * block_bytes_ + offset};
    }
    const uint32_t in_group = block / groups_;
    const uint32_t row_index = in_group / row_blocks_;
    const uint32_t per_group = banks_ / groups_;
    const uint32_t row = row_index / per_group;
    uint32_t bank = (row_index & (per_group - 1)) * groups_ + (block & (groups_ - 1));
    if (hashed_) {
      uint32_t folded = row ^ (row >> 12);
      folded ^= folded >> 6;
      // Row bits permute the banks; a row keeps its own set of columns, so the map stays one to
      // one.
      bank = (bank ^ folded) & (banks_ - 1);
    }
    return {bank, row, in_group % row_blocks_ * block_bytes_ + offset};
  }

 private:
  uint32_t row_blocks_;
  uint32_t block_bytes_;
  uint32_t groups_;
  uint32_t banks_;
  bool interleaved_;
  bool hashed_;
};

}  // namespace spyre::model
