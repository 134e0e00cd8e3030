// SPDX-License-Identifier: Apache-2.0
// Where a channel-local address lives: bank, row and column. A policy of the card
// (memory.bank_mapping), used by the channel controller. Any thread.
//
// Data of a row is less than the page when check bytes share it (RowDataBytes). Banks are numbered
// group first: bank % groups is the bank group.
#pragma once

#include <cstdint>

#include "model/common/divisor.h"
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
      : by_row_blocks_(RowDataBytes(config) / config.interleave_bytes),
        by_block_(config.interleave_bytes),
        block_bytes_(static_cast<uint32_t>(config.interleave_bytes)),
        groups_(static_cast<uint32_t>(config.bank_groups)),
        banks_(static_cast<uint32_t>(config.bank_groups * config.banks_per_group)),
        group_bits_(static_cast<uint32_t>(__builtin_ctzll(config.bank_groups))),
        bank_bits_(static_cast<uint32_t>(__builtin_ctzll(banks_))),
        interleaved_(config.bank_mapping != BankMapping::kRowBankColumn),
        hashed_(config.bank_mapping == BankMapping::kHash) {}

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
    const Divisor::Result at = by_block_.Divide(address);
    const auto block = static_cast<uint32_t>(at.quotient);
    const auto column = [&](uint64_t block_of_row) {
      return static_cast<uint32_t>(block_of_row * block_bytes_ + at.rest);
    };
    // Groups and banks are powers of two (CheckMemory).
    const uint32_t in_group = interleaved_ ? block >> group_bits_ : block;
    const Divisor::Result row_at = by_row_blocks_.Divide(in_group);
    const auto row_index = static_cast<uint32_t>(row_at.quotient);
    if (!interleaved_)
      return {row_index & (banks_ - 1), row_index >> bank_bits_, column(row_at.rest)};
    const uint32_t per_group = banks_ >> group_bits_;
    const uint32_t row = row_index >> (bank_bits_ - group_bits_);
    uint32_t bank = (row_index & (per_group - 1)) * groups_ + (block & (groups_ - 1));
    if (hashed_) {
      uint32_t folded = row ^ (row >> 12);
      folded ^= folded >> 6;
      // Row bits permute the banks; a row keeps its own set of columns, so the map stays one to
      // one.
      bank = (bank ^ folded) & (banks_ - 1);
    }
    return {bank, row, column(row_at.rest)};
  }

 private:
  Divisor by_row_blocks_, by_block_;
  uint32_t block_bytes_;
  uint32_t groups_;
  uint32_t banks_;
  uint32_t group_bits_, bank_bits_;
  bool interleaved_;
  bool hashed_;
};

}  // namespace spyre::model
