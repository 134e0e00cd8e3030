// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/mailboxes.h"

#include <utility>

namespace spyre::cosim {
namespace {

constexpr size_t kMostClients = 1024;
constexpr size_t kMostWaiting = 65'536;  // of a sender for a receiver

}  // namespace

bool Mailboxes::Post(const driver::vfio_user::MailAddress& address, std::string message) {
  if (address.from >= kMostClients || address.to >= kMostClients) return false;
  std::deque<std::string>& box = boxes_[address.to][address.from];
  if (box.size() >= kMostWaiting) return false;
  box.push_back(std::move(message));
  return true;
}

std::optional<Mailboxes::Mail> Mailboxes::Take(uint32_t to) {
  const auto found = boxes_.find(to);
  if (found == boxes_.end()) return std::nullopt;
  const auto first = found->second.begin();
  Mail mail{first->first, std::move(first->second.front())};
  first->second.pop_front();
  if (first->second.empty()) found->second.erase(first);
  if (found->second.empty()) boxes_.erase(found);
  return mail;
}

}  // namespace spyre::cosim
