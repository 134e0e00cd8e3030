// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.h"
#include "cosim/serve/connection.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxJsonBytes = 16 << 10;
constexpr size_t kMaxNameBytes = 128;

// False: it is there and is not an object.
bool FindObject(const Json& parent, const char* key, const Json*& object) {
  const auto found = parent.find(key);
  object = found == parent.end() ? nullptr : &*found;
  return object == nullptr || object->is_object();
}

// An unsigned number; `value` is unchanged if it is missing. False if it is there and is not a
// number.
bool FindNumber(const Json& parent, const char* key, uint64_t& value) {
  const auto found = parent.find(key);
  if (found == parent.end()) return true;
  if (!found->is_number_unsigned()) return false;
  value = found->get<uint64_t>();
  return true;
}

std::string ReadCapabilities(std::string_view text, ClientVersion& client) {
  const Json root = JsonIfAny(text);
  if (root.is_discarded() || !root.is_object()) return "its capabilities are not a JSON object";
  const Json* capabilities = nullptr;
  if (!FindObject(root, "capabilities", capabilities)) return "'capabilities' is not an object";
  if (capabilities == nullptr) return "";
  uint64_t transfer = client.transfer_bytes;
  uint64_t descriptors = 1;
  if (!FindNumber(*capabilities, "max_data_xfer_size", transfer) || transfer == 0)
    return "'max_data_xfer_size' is not a number above 0";
  if (!FindNumber(*capabilities, "max_msg_fds", descriptors))
    return "'max_msg_fds' is not an unsigned number";
  client.transfer_bytes = static_cast<uint32_t>(std::min<uint64_t>(transfer, kMaxTransferBytes));
  const Json* time = nullptr;
  if (!FindObject(*capabilities, "spyre_time", time)) return "'spyre_time' is not an object";
  if (time == nullptr) return "";
  const auto name = time->find("client");
  if (name == time->end() || !name->is_string() ||
      name->get_ref<const std::string&>().size() > kMaxNameBytes) {
    return fmt::format("'spyre_time' has no 'client' of at most {} characters", kMaxNameBytes);
  }
  client.time_client = name->get<std::string>();
  if (!FindNumber(*time, "clients", client.clients) || client.clients == 0)
    return "'clients' of 'spyre_time' is not a number above 0";
  for (const auto& [key, value] :
       {std::pair("monitor", &client.monitor), std::pair("outcomes", &client.outcomes)}) {
    const auto found = time->find(key);
    if (found == time->end()) continue;
    if (!found->is_boolean()) return fmt::format("'{}' of 'spyre_time' is not true or false", key);
    *value = found->get<bool>();
  }
  return "";
}

}  // namespace

std::optional<ClientVersion> ParseVersion(std::string_view payload, std::string& why) {
  vfio_user::Version version;
  if (payload.size() < sizeof(version)) {
    why = fmt::format("its version message has {} bytes, not {} or more", payload.size(),
                      sizeof(version));
    return std::nullopt;
  }
  std::memcpy(&version, payload.data(), sizeof(version));
  if (version.major != vfio_user::kMajor) {
    why = fmt::format("it speaks version {}.{} of the protocol, this server {}.{}", version.major,
                      version.minor, vfio_user::kMajor, vfio_user::kMinor);
    return std::nullopt;
  }
  ClientVersion client;
  client.minor = std::min(version.minor, vfio_user::kMinor);
  client.transfer_bytes = vfio_user::kDefaultTransferBytes;
  std::string_view text = payload.substr(sizeof(version));
  if (text.empty()) return client;
  if (text.back() != '\0' || text.size() > kMaxJsonBytes) {
    why = fmt::format("its capabilities do not end in a NUL, or have more than {} bytes",
                      kMaxJsonBytes);
    return std::nullopt;
  }
  text.remove_suffix(1);
  why = ReadCapabilities(text, client);
  if (!why.empty()) return std::nullopt;
  return client;
}

std::string VersionReply(const ClientVersion& client, TimeMode mode) {
  Json capabilities = {{"max_msg_fds", kMaxDescriptors}, {"max_data_xfer_size", kMaxTransferBytes}};
  if (client.time_client) capabilities["spyre_time"]["mode"] = Name(mode);
  if (client.outcomes) capabilities["spyre_time"]["outcomes"] = true;
  Json root;
  root["capabilities"] = capabilities;
  const vfio_user::Version version{vfio_user::kMajor, client.minor};
  std::string payload(reinterpret_cast<const char*>(&version), sizeof(version));
  payload += DumpJson(root);
  payload.push_back('\0');
  return payload;
}

}  // namespace spyre::cosim
