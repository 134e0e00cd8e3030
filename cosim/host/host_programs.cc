// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/host_programs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/host/program_transport.h"

namespace spyre::cosim {

HostPrograms::HostPrograms(std::vector<InProcessTransport*> cards) : cards_(std::move(cards)) {
  for (InProcessTransport* card : cards_)
    transports_.push_back(std::make_unique<ProgramTransport>(*this, *card));
}

HostPrograms::~HostPrograms() = default;

driver::Transport& HostPrograms::Transport(size_t card) { return *transports_.at(card); }

void HostPrograms::Add(std::string name, uint64_t start_ps, std::function<void()> work) {
  auto program = std::make_unique<Program>();
  program->name = std::move(name);
  program->start_ps = start_ps;
  program->work = std::move(work);
  programs_.push_back(std::move(program));
}

HostTime HostPrograms::TimeOf(size_t program) const { return programs_.at(program)->time; }

// ---------------------------------------------------------------- by programs

void HostPrograms::HandTo(Program* next) {
  current_ = next;
  (next == nullptr ? ended_ : next->turn).notify_one();
}

void HostPrograms::Suspend() {
  Program& self = *current_;
  Program* const next = Next();
  if (next != &self) {
    std::unique_lock<std::mutex> lock(mutex_);
    HandTo(next);
    self.turn.wait(lock, [&] { return current_ == &self; });
  }
  self.state = State::kRuns;
  if (self.thrown) std::rethrow_exception(std::exchange(self.thrown, nullptr));
}

void HostPrograms::Sleep(uint64_t ps) {
  if (over_) {  // time passes only by what the host asks for
    for (InProcessTransport* card : cards_) card->Advance(ps);
    return;
  }
  if (ps == 0) return;
  current_->state = State::kSleeps;
  current_->until_ps = NowPs() + ps;
  Suspend();
}

driver::WaitResult HostPrograms::WaitInterrupt(InProcessTransport& card,
                                               driver::FunctionId function, int vector,
                                               uint64_t deadline_ps) {
  if (over_) return card.WaitInterrupt(function, vector, deadline_ps);
  Use(card);
  Program& self = *current_;
  const uint64_t begin_ps = NowPs();
  self.state = State::kWaitsForInterrupt;
  self.function = function;
  self.vector = vector;
  self.until_ps = deadline_ps;
  self.in_vain = false;
  Suspend();
  self.time.waited_ps += NowPs() - begin_ps;
  driver::WaitResult result = driver::WaitResult::kDeadline;
  if (card.TakeInterrupt(function, vector)) {
    result = driver::WaitResult::kInterrupt;
    Sleep(card.timing().interrupt_ns * kPsPerNs);
  } else if (self.in_vain) {
    result = driver::WaitResult::kStalled;
  }
  return result;
}

void HostPrograms::WaitFor(const std::string& what, std::function<bool()> ready) {
  Program& self = *current_;
  const uint64_t begin_ps = NowPs();
  self.state = State::kWaitsForCondition;
  self.ready = std::move(ready);
  self.awaited = what;
  self.in_vain = false;
  Suspend();
  self.time.waited_ps += NowPs() - begin_ps;
  if (!self.ready()) {
    throw DeviceFault("{} waits for {}, and nothing is left that could bring it", self.name, what);
  }
}

void HostPrograms::Body(Program& program) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    program.turn.wait(lock, [&] { return current_ == &program; });
  }
  program.state = State::kRuns;
  const uint64_t begin_ps = NowPs();
  try {
    if (program.thrown) std::rethrow_exception(std::exchange(program.thrown, nullptr));
    program.work();
  } catch (const Interruption&) {
    program.failure = std::current_exception();
    Tell(program.failure, nullptr);
  } catch (...) {
    program.failure = std::current_exception();
  }
  program.work = nullptr;  // what it holds goes while it is this program's turn
  program.time.busy_ps = NowPs() - begin_ps - program.time.waited_ps;
  program.state = State::kEnded;
  Program* const next = Next();
  const std::lock_guard<std::mutex> lock(mutex_);
  HandTo(next);
}

// ---------------------------------------------------------------- whose turn it is

bool HostPrograms::Ready(Program& program) const {
  if (program.state == State::kEnded) return false;
  if (program.thrown || program.in_vain) return true;
  if (program.state == State::kWaitsForCondition) return program.ready();
  if (program.state == State::kWaitsForInterrupt &&
      program.card->HasInterrupt(program.function, program.vector))
    return true;
  return NowPs() >= program.until_ps;
}

HostPrograms::Program* HostPrograms::Next() {
  for (;;) {
    bool alive = false;
    for (const auto& program : programs_) {
      if (Ready(*program)) return program.get();
      alive = alive || program->state != State::kEnded;
    }
    if (!alive) return nullptr;
    LetCardsRun();
  }
}

void HostPrograms::LetCardsRun() {
  // Until the first that wakes by itself. A deadline alone does not move an idle card's time.
  uint64_t until_ps = UINT64_MAX;
  bool sleeps = false;
  for (const auto& program : programs_) {
    if (program->state != State::kSleeps && program->state != State::kWaitsForInterrupt) continue;
    sleeps = sleeps || program->state == State::kSleeps;
    until_ps = std::min(until_ps, program->until_ps);
  }
  InProcessTransport& simulation = *cards_.front();
  if (over_ || until_ps == UINT64_MAX || (!sleeps && simulation.idle())) return EndWaits();
  try {
    simulation.RunUntil(until_ps, sleeps);
  } catch (...) {
    over_ = simulation.ended();
    Tell(std::current_exception(), over_ ? nullptr : &simulation);
  }
  for (InProcessTransport* card : cards_) {
    try {
      card->Check();
    } catch (...) {
      Tell(std::current_exception(), card);
    }
  }
}

// To programs that used `card` last, or to all if that is null.
void HostPrograms::Tell(const std::exception_ptr& thrown, const InProcessTransport* card) {
  for (const auto& program : programs_) {
    const bool waits = program->state != State::kEnded && program.get() != current_;
    if (card == nullptr ? waits : program->state != State::kEnded && program->card == card)
      program->thrown = thrown;
  }
}

// Nothing is left to happen in the cards: no interrupt can come. Where nobody waits for one,
// the programs wait for each other for ever.
void HostPrograms::EndWaits() {
  for (const State state : {State::kWaitsForInterrupt, State::kWaitsForCondition}) {
    for (const auto& program : programs_) {
      if (program->state != state) continue;
      program->in_vain = true;
      return;
    }
  }
}

void HostPrograms::Run() {
  if (programs_.empty()) return;
  const uint64_t begin_ps = NowPs();
  for (const auto& program : programs_) {
    program->start_ps += begin_ps;
    program->until_ps = program->start_ps;
  }
  for (const auto& program : programs_)
    program->thread = std::thread([this, &program = *program] { Body(program); });
  {
    Program* const first = Next();
    std::unique_lock<std::mutex> lock(mutex_);
    HandTo(first);
    ended_.wait(lock, [&] { return current_ == nullptr; });
  }
  for (const auto& program : programs_) program->thread.join();
}

}  // namespace spyre::cosim
