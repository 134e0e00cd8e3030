// SPDX-License-Identifier: Apache-2.0
// The Scheduler calls the application: callbacks of streams and of operations, without the
// runtime's lock, one at a time, and not while a thread holds calls back.
#include <mutex>

#include "base/error.h"
#include "runtime/flex/scheduler.h"

namespace spyre::flex {

bool Scheduler::InCallback() const { return in_callback_ && caller_ == std::this_thread::get_id(); }

void Scheduler::CheckMayWait(const std::string& what) const {
  if (!InCallback()) return;
  throw BadInput("{} inside a callback: what it waits for is handled by the caller of the callback",
                 what);
}

void Scheduler::WaitForCallback() {
  mutex_.WaitUntil([this] { return !in_callback_; });
}

void Scheduler::CallThen(PendingOperation* operation) {
  Call(operation->request.then, *operation);
  streams_[operation->stream].calls.pop_front();
  --calls_;
  unsettled_.Insert(operation->stream);
  Release(operation);
}

void Scheduler::CallDue() {
  while (!due_.empty() && !in_callback_) {
    PendingOperation* operation = due_.front();
    due_.pop_front();
    const uint32_t index = operation->stream;
    CallThen(operation);
    if (streams_[index].error) DropQueue(index);
  }
}

void Scheduler::LetCalls() {
  if (in_callback_) return;
  CallDue();
  if (!later_.empty()) Poll();
}

void Scheduler::Call(const std::function<void()>& function, const PendingOperation& operation) {
  std::string problem;
  in_callback_ = true;
  caller_ = std::this_thread::get_id();
  {
    const RuntimeMutex::Released released(mutex_);
    try {
      function();
    } catch (const std::exception& error) {
      problem = error.what();
    } catch (...) {
      problem = "the callback threw something that is not a std::exception";
    }
  }
  in_callback_ = false;
  mutex_.Notify();
  if (problem.empty()) return;
  const ControlBlockRequest& request = operation.request;
  Fail(streams_[operation.stream],
       fmt::format("stream {}: {}{}: {}", operation.stream, request.callback ? "" : "after ",
                   Describe(request), problem),
       DescribeOutcome(operation, Status::OK));
}

}  // namespace spyre::flex
