// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/neighbour_access.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace spyre::cosim {
namespace {

namespace protocol = driver::vfio_user;

// A structure, and what lies behind it.
template <typename T>
std::optional<std::pair<T, std::string>> Head(const std::string& data) {
  T head;
  if (data.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, data.data(), sizeof(head));
  return std::make_pair(head, data.substr(sizeof(head)));
}

}  // namespace

std::optional<std::string> NeighbourAccess::Read(uint64_t offset, uint64_t count) const {
  if (offset == protocol::kTimeMessage && count >= sizeof(uint32_t)) {
    std::string answer = Received();
    answer.resize(count, '\0');
    return answer;
  }
  if (count != sizeof(driver::IoAddress)) return std::nullopt;
  if (offset == protocol::kTimePeers) return std::string(protocol::BytesOf(card_.PeerWindow()));
  if (offset == protocol::kTimeMapped) return std::string(protocol::BytesOf(last_mapped_));
  return std::nullopt;
}

std::string NeighbourAccess::Received() const {
  const auto bytes = static_cast<uint32_t>(received_.message.size());
  std::string answer(protocol::BytesOf(bytes));
  answer += protocol::BytesOf(received_.from);
  answer += received_.message;
  return answer;
}

bool NeighbourAccess::Write(uint64_t offset, const std::string& data) {
  if (offset == protocol::kTimePost) {
    auto mail = Head<protocol::MailAddress>(data);
    return mail && mail->second.size() <= protocol::kMaxMessageBytes &&
           mail_.Post(mail->first, std::move(mail->second));
  }
  if (offset == protocol::kTimePeers) {
    const auto mapping = Head<protocol::PeerMapping>(data);
    return mapping && mapping->second.empty() && MapPeer(mapping->first);
  }
  if (offset == protocol::kTimeName) {
    const auto name = Head<uint64_t>(data);
    if (name && listener_ != nullptr) listener_->Name(card_number_, name->first, name->second);
    return name.has_value();
  }
  if (offset == protocol::kTimeSlice) {
    const auto slice = Head<protocol::HostSlice>(data);
    if (!slice || slice->first.begin_ps > slice->first.end_ps) return false;
    if (listener_ != nullptr) listener_->Slice(card_number_, slice->first, slice->second);
    return true;
  }
  return false;
}

void NeighbourAccess::TakeMail(uint32_t to) {
  received_ = mail_.Take(to).value_or(Mailboxes::Mail());
}

// A card that has no such peer says so.
bool NeighbourAccess::MapPeer(const protocol::PeerMapping& mapping) {
  try {
    if (mapping.unmap != 0) {
      const auto found = mapped_.find(mapping.offset);
      if (found == mapped_.end()) return false;
      mapped_.erase(found);
      card_.UnmapPeer(function_, mapping.offset);
      return true;
    }
    last_mapped_ = card_.MapPeer(function_, mapping.peer, mapping.offset, mapping.bytes);
    mapped_.insert(last_mapped_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    return false;
  }
  return true;
}

void NeighbourAccess::Clear() {
  for (const driver::IoAddress address : mapped_) card_.UnmapPeer(function_, address);
  mapped_.clear();
  received_ = {};
  last_mapped_ = 0;
}

}  // namespace spyre::cosim
