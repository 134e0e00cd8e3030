// The error type of every room: what happened, whose fault, and therefore which exit status.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace spyre {

enum class ErrorKind {
  kBadInput,     // the caller's data is wrong: exit status 2
  kDeviceFault,  // the card reported an error, hung or disappeared: exit status 3
  kInternal,     // this program is wrong
};

// `what()` says what happened, where (file, key, block, stream, address), the value, and what would
// be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <typename... Args>
Error BadInput(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kBadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Error DeviceFault(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kDeviceFault, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spyre
