// SPDX-License-Identifier: Apache-2.0
// The error type of every folder: what happened, whose fault, and therefore which exit status.
//
// `what()` is the sentence for people. Beside it an error carries its data, so that a program or a
// test can ask for it without reading the sentence:
//
//   throw BadInput("{}: {} = {} is out of range; allowed: {}", file, key, value, allowed)
//       .Subject(key).Value(value).Remedy(allowed);
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace spyre {

enum class ErrorKind {
  kBadInput,     // the caller's data is wrong: exit status 2
  kDeviceFault,  // the card reported an error, hung or disappeared: exit status 3
  kInternal,     // this program is wrong
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what);
  // Out of line, so that the hundreds of places that throw carry no code for them.
  ~Error() override;
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;

  ErrorKind kind() const { return kind_; }
  // Empty where nobody has said it.
  const std::string& subject() const { return subject_; }  // file, key, block, stream, operation
  const std::string& value() const { return value_; }      // what was found there
  const std::string& remedy() const { return remedy_; }    // what would be right

  Error&& Subject(std::string subject) &&;
  Error&& Remedy(std::string remedy) &&;
  template <typename T>
  Error&& Value(const T& value) && {
    value_ = fmt::vformat("{}", fmt::make_format_args(value));
    return std::move(*this);
  }

  // The same error as somebody further up tells it: "<place>: <what>", with the same data. `place`
  // is the subject if there is none yet.
  Error Within(std::string_view place) const;

 private:
  ErrorKind kind_;
  std::string subject_, value_, remedy_;
};

Error FormatError(ErrorKind kind, fmt::string_view format, fmt::format_args args);

template <typename... Args>
Error BadInput(fmt::format_string<Args...> format, const Args&... args) {
  return FormatError(ErrorKind::kBadInput, format, fmt::make_format_args(args...));
}

template <typename... Args>
Error DeviceFault(fmt::format_string<Args...> format, const Args&... args) {
  return FormatError(ErrorKind::kDeviceFault, format, fmt::make_format_args(args...));
}

template <typename... Args>
Error InternalError(fmt::format_string<Args...> format, const Args&... args) {
  return FormatError(ErrorKind::kInternal, format, fmt::make_format_args(args...));
}

}  // namespace spyre
