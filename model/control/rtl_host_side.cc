// SPDX-License-Identifier: Apache-2.0
// What the RTL control processor asks for: entries of host memory, their translation, responses.
#include <algorithm>
#include <cstring>

#include "model/control/rtl_control_processor.h"

namespace spyre::model {

void RtlControlProcessor::ServeHost() {
  if (rtl_->TakeRead(&read_)) read_asked_.notify(sc_core::SC_ZERO_TIME);
  if (rtl_->message()) message_asked_.notify(sc_core::SC_ZERO_TIME);
  if (rtl_->entries_drop()) {
    rtl_->PresentEntry(nullptr);
  } else if (rtl_->entry_next()) {
    NextEntry();
  }
  ControlRtl::Started started{};
  if (rtl_->TakeStart(&started)) StartOperation(started);
  ControlRtl::Write write;
  if (rtl_->TakeWrite(&write)) {
    rtl_->EndWrite(functions_[write.function].reset ||
                   WriteResponse(write.function, functions_[write.function].queue, write.address,
                                 write.response));
    input_ = true;
  }
}

void RtlControlProcessor::ReadEntries() {
  for (;;) {
    wait(read_asked_);
    read_begin_ps_ = NowPs();
    batch_.resize(read_.entries * kEntryBytes);
    PutAside& aside = functions_[read_.function].aside;
    switch (FetchEntries(read_.function, read_.address, batch_, aside)) {
      case Fetched::kEntries:
        entries_.resize(read_.entries);
        std::memcpy(entries_.data(), batch_.data(), batch_.size());
        entry_ = 0;
        rtl_->PresentEntry(entries_.data());
        break;
      case Fetched::kLater:
        silent_ |= 1u << read_.function;
        rtl_->PutReadAside();
        break;
      case Fetched::kNothing:
        rtl_->FailRead();
    }
    Wake();
  }
}

void RtlControlProcessor::NextEntry() {
  ++entry_;
  input_ = true;
  if (entry_ < entries_.size()) {
    rtl_->PresentEntry(entries_[entry_].data());
    return;
  }
  rtl_->PresentEntry(nullptr);
  statistics_.busy_ps += NowPs() - read_begin_ps_;
  statistics_.requests += entries_.size();
  statistics_.bytes += entries_.size() * kEntryBytes;
}

void RtlControlProcessor::TranslateMessages() {
  for (;;) {
    wait(message_asked_);
    Message message;
    std::memcpy(&message, entries_[entry_].data(), kEntryBytes);
    ControlBlock block;
    uint64_t fault = 0;
    const Status status = Translate(read_.function, message, &block, &fault);
    rtl_->AnswerMessage(status, fault, block);
    Wake();
  }
}

uint64_t RtlControlProcessor::NextAnswer() const {
  uint64_t next = UINT64_MAX;
  for (uint32_t left = silent_; left != 0; left &= left - 1) {
    const unsigned function = static_cast<unsigned>(__builtin_ctz(left));
    next = std::min(next, functions_[function].aside.EndPs());
  }
  return next;
}

// A function that was reset has nothing put aside any more.
void RtlControlProcessor::ShowSilent(uint64_t now_ps) {
  if (silent_ == 0) return;
  uint32_t still = 0;
  for (uint32_t left = silent_; left != 0; left &= left - 1) {
    const unsigned function = static_cast<unsigned>(__builtin_ctz(left));
    if (functions_[function].aside.EndPs() > now_ps) still |= 1u << function;
  }
  silent_ = still;
  rtl_->SetSilent(silent_);
}

}  // namespace spyre::model
