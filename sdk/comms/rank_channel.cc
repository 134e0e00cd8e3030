// SPDX-License-Identifier: Apache-2.0
#include "sdk/comms/rank_channel.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::sdk {

void RankChannel::Send(size_t to, std::string_view kind, std::string_view what,
                       std::string_view body) {
  mail_->Post(static_cast<uint32_t>(rank_), static_cast<uint32_t>(to),
              fmt::format("{}\n{}\n{}", kind, what, body));
}

RankChannel::Message RankChannel::Parse(const std::string& text) {
  const size_t kind = text.find('\n');
  const size_t what = text.find('\n', kind + 1);
  return {text.substr(0, kind), text.substr(kind + 1, what - kind - 1), text.substr(what + 1)};
}

bool RankChannel::Has(size_t from, std::string_view kind) const {
  const std::deque<Message>& waiting = waiting_.at(from);
  return AnyFits(waiting, [kind](const Message& message) { return message.kind == kind; });
}

void RankChannel::Wait(size_t from, const std::string& waits_for) {
  const auto mail = mail_->Receive(static_cast<uint32_t>(rank_));
  if (mail) {
    waiting_.at(mail->from).push_back(Parse(mail->text));
    return;
  }
  const std::deque<Message>& waiting = waiting_.at(from);
  const auto called = FindIf(waiting, [](const Message& message) { return !message.what.empty(); });
  throw DeviceFault("rank {} waits for rank {} in {}, and nothing is left to happen; rank {} {}",
                    rank_, from, waits_for, from,
                    called == waiting.end()
                        ? "has not called it, has ended or waits for something else"
                        : "has called " + called->what);
}

std::string RankChannel::Receive(size_t from, std::string_view kind, const std::string& waits_for) {
  while (!Has(from, kind)) Wait(from, waits_for);
  std::deque<Message>& waiting = waiting_.at(from);
  const auto found =
      FindIf(waiting, [kind](const Message& message) { return message.kind == kind; });
  std::string body = std::move(found->body);
  waiting.erase(found);
  return body;
}

}  // namespace spyre::sdk
