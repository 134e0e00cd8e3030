// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/mailboxes.h"

namespace spyre::cosim {
namespace {

constexpr size_t kMostBoxes = 65'536;
constexpr size_t kMostWaiting = 65'536;  // in one of them

}  // namespace

bool Mailboxes::Post(const driver::vfio_user::MailAddress& address, std::string message) {
  const std::pair<uint32_t, uint32_t> pair{address.from, address.to};
  const auto found = boxes_.find(pair);
  if (found == boxes_.end() && boxes_.size() >= kMostBoxes) return false;
  std::deque<std::string>& box = found == boxes_.end() ? boxes_[pair] : found->second;
  if (box.size() >= kMostWaiting) return false;
  box.push_back(std::move(message));
  return true;
}

std::optional<std::string> Mailboxes::Take(const driver::vfio_user::MailAddress& address) {
  const auto found = boxes_.find({address.from, address.to});
  if (found == boxes_.end()) return std::nullopt;
  std::string message = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) boxes_.erase(found);
  return message;
}

}  // namespace spyre::cosim
