// SPDX-License-Identifier: Apache-2.0
// The streams of a context by index, and sets of them.
//
// Plain data, any thread. Walking a set costs one step for each member, not for each stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::flex {

inline constexpr uint32_t kDefaultStream = 0;
inline constexpr uint32_t kFirstHighPriorityStream = 33;  // 1..32 normal, 33..64 high
inline constexpr uint32_t kLastStream = 64;
inline constexpr size_t kStreams = kLastStream + 1;

class StreamSet {
 public:
  static constexpr uint32_t kNone = kStreams;

  void Insert(uint32_t stream) { words_[stream / 64] |= Bit(stream); }
  void Erase(uint32_t stream) { words_[stream / 64] &= ~Bit(stream); }
  void Clear() { words_ = {}; }
  bool Contains(uint32_t stream) const { return (words_[stream / 64] & Bit(stream)) != 0; }
  bool empty() const { return (words_[0] | words_[1]) == 0; }

  // The lowest member that is at least `from`; kNone if there is none.
  uint32_t From(uint32_t from) const {
    for (uint32_t word = from / 64; word < words_.size(); ++word, from = word * 64) {
      const uint64_t rest = words_[word] & ~uint64_t{0} << from % 64;
      if (rest != 0) return word * 64 + static_cast<uint32_t>(__builtin_ctzll(rest));
    }
    return kNone;
  }
  // The member of [first, last] that comes next after `stream` when they take turns; kNone if the
  // range has no member.
  uint32_t NextInTurn(uint32_t stream, uint32_t first = 0, uint32_t last = kLastStream) const {
    if (stream >= first && stream < last) {
      const uint32_t next = From(stream + 1);
      if (next <= last) return next;
    }
    const uint32_t next = From(first);
    return next <= last ? next : kNone;
  }

  // Members in ascending order: for (uint32_t stream : set). The set must not change meanwhile.
  class Iterator {
   public:
    Iterator(const StreamSet& set, uint32_t at) : set_(set), at_(at) {}
    uint32_t operator*() const { return at_; }
    Iterator& operator++() {
      at_ = set_.From(at_ + 1);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const StreamSet& set_;
    uint32_t at_;
  };
  Iterator begin() const { return {*this, From(0)}; }
  Iterator end() const { return {*this, kNone}; }

 private:
  static uint64_t Bit(uint32_t stream) { return uint64_t{1} << stream % 64; }

  std::array<uint64_t, 2> words_{};
};

}  // namespace spyre::flex
