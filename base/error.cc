// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <fmt/format.h>

namespace spyre {

Error::Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
Error::~Error() = default;
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;

Error&& Error::Subject(std::string subject) && {
  subject_ = std::move(subject);
  return std::move(*this);
}

Error&& Error::Remedy(std::string remedy) && {
  remedy_ = std::move(remedy);
  return std::move(*this);
}

Error Error::Within(std::string_view place) const {
  Error outer(kind_, fmt::format("{}: {}", place, what()));
  outer.subject_ = subject_.empty() ? std::string(place) : subject_;
  outer.value_ = value_;
  outer.remedy_ = remedy_;
  return outer;
}

Error FormatError(ErrorKind kind, fmt::string_view format, fmt::format_args args) {
  return {kind, fmt::vformat(format, args)};
}

}  // namespace spyre
