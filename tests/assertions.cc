// SPDX-License-Identifier: Apache-2.0
#include "tests/assertions.h"

#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace spyre::test {
namespace {

const char* Keep(std::string text) {
  static std::mutex mutex;
  static auto* const texts = new std::deque<std::string>;  // tests' threads may outlive main()
  const std::lock_guard lock(mutex);
  return texts->emplace_back(std::move(text)).c_str();
}

}  // namespace

const char* Unmet(const ::testing::AssertionResult& result) {
  return result ? nullptr : Keep(result.failure_message());
}

const char* Unmet(const ::testing::AssertionResult& result, bool expected, const char* text) {
  if (result) return nullptr;
  return Keep(::testing::internal::GetBoolAssertionFailureMessage(
      result, text, expected ? "false" : "true", expected ? "true" : "false"));
}

const char* Unmet(bool result, bool expected, const char* text) {
  return result ? nullptr : Unmet(::testing::AssertionResult(false), expected, text);
}

::testing::Message& Words::Stream() {
  if (stream_ == nullptr) stream_ = new ::testing::Message;
  return *stream_;
}

void Failure::operator=(const Words& words) const {
  ::testing::internal::AssertHelper(type_, file_, line_, text_) =
      words.stream_ == nullptr ? ::testing::Message() : *words.stream_;
  delete words.stream_;
}

}  // namespace spyre::test
