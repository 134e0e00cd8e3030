// SPDX-License-Identifier: Apache-2.0
// The card's choices by the names that a configuration gives them, for tests that are run for each
// name.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "model/common/card_config.h"

namespace spyre::test {

// A choice that becomes the enumeration that it is assigned to.
class Named {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  operator model::BlockFidelity() const { return Pick<model::BlockFidelity>({"timed", "rtl"}); }
  operator model::ManagementFidelity() const {
    return Pick<model::ManagementFidelity>({"behavioural", "rtl"});
  }
  operator model::Concurrency() const {
    return Pick<model::Concurrency>({"serial", "pipelined", "concurrent"});
  }
  operator model::Ecc() const { return Pick<model::Ecc>({"inline", "none"}); }
  operator model::BankMapping() const {
    return Pick<model::BankMapping>({"row_bank_column", "group_interleave", "hash"});
  }
  operator model::RefreshKind() const {
    return Pick<model::RefreshKind>({"all_bank", "per_bank", "none"});
  }

 private:
  template <class Enum>
  Enum Pick(std::initializer_list<const char*> names) const {
    int index = 0;
    for (const char* name : names) {
      if (name_ == name) return static_cast<Enum>(index);
      ++index;
    }
    throw std::invalid_argument(name_);
  }
  std::string name_;
};

}  // namespace spyre::test
