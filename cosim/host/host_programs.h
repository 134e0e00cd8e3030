// SPDX-License-Identifier: Apache-2.0
// Several programs of a host beside each other in simulated time, each as if on a processor of its
// own: what one program's host work costs delays no other program, and cards work on meanwhile.
// Tenants of one card, and the ranks of several cards, are such programs.
//
// A program is a function that uses cards by Transport(card). It runs on a thread of its own, but
// only one thread runs at a time, and which one is decided by simulated time and, at equal times,
// by the order of Add. So there are no races, and equal programs see equal times and equal traces,
// whatever the machine does. Simulated time moves when no program can run: the cards then run until
// the next program has slept enough or an interrupt has come.
//
//   HostPrograms programs({&card});
//   programs.Add("a", 0, [&] { RunOn(programs.Transport(0), 1); });
//   programs.Add("b", 5'000'000, [&] { RunOn(programs.Transport(0), 2); });
//   programs.Run();
//
// The SystemC kernel runs on the thread of the program that went to sleep last.
//
// Errors: what a program throws ends that program alone, and is kept for Failure. What the
// simulation throws, because a card is lost, reaches every program that waits then. An Interruption
// ends all of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cosim/host/host_time.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/transport.h"

namespace spyre::cosim {

class HostPrograms {
 public:
  static constexpr uint64_t kPsPerNs = 1000;

  // The cards must be of one simulation, and outlive this.
  explicit HostPrograms(std::vector<InProcessTransport*> cards);
  ~HostPrograms();
  HostPrograms(const HostPrograms&) = delete;
  HostPrograms& operator=(const HostPrograms&) = delete;

  // To be used by programs, and, while none runs, by anybody.
  driver::Transport& Transport(size_t card = 0);

  // Called before Run. start_ps is simulated time from the beginning of Run.
  void Add(std::string name, uint64_t start_ps, std::function<void()> work);
  // Runs all programs to their ends. Once.
  void Run();
  // What the program threw; null: nothing.
  std::exception_ptr Failure(size_t program) const { return programs_[program]->failure; }
  HostTime TimeOf(size_t program) const;  // from its start to its end

  // The following are called by programs.
  //
  // Sleeps until `ready` returns true. It is asked whenever another program has run, must have no
  // effects, and reads only what programs write. Throws DeviceFault if nothing can make it true any
  // more; `what` says what is waited for.
  void WaitFor(const std::string& what, std::function<bool()> ready);
  void Sleep(uint64_t ps);  // host work

 private:
  friend class ProgramTransport;
  enum class State { kSleeps, kWaitsForInterrupt, kWaitsForCondition, kRuns, kEnded };

  struct Program {
    std::string name;
    std::function<void()> work;
    State state = State::kSleeps;
    uint64_t start_ps = 0;
    uint64_t until_ps = 0;               // kSleeps; kWaitsForInterrupt: the deadline
    InProcessTransport* card = nullptr;  // that it used last
    driver::FunctionId function = 0;
    int vector = 0;
    driver::WaitResult result{};
    bool in_vain = false;  // what it waits for can not come
    std::function<bool()> ready;
    std::string awaited;
    std::exception_ptr thrown;   // to be thrown where it waits
    std::exception_ptr failure;  // what it threw
    HostTime time;
    std::thread thread;
    std::condition_variable turn;
  };

  bool inside() const { return current_ != nullptr; }
  void Use(InProcessTransport& card) { current_->card = &card; }
  driver::WaitResult WaitInterrupt(InProcessTransport& card, driver::FunctionId function,
                                   int vector, uint64_t deadline_ps);
  void Suspend();  // in its state until it is its turn again

  void Body(Program& program);
  // The program whose turn is next; lets the cards run until one has its turn. Null if all have
  // ended.
  Program* Next();
  bool Ready(Program& program) const;
  void LetCardsRun();
  void Tell(const std::exception_ptr& thrown, const InProcessTransport* card);
  void EndWaits();
  void HandTo(Program* next);  // the caller holds the mutex
  uint64_t NowPs() const { return cards_.front()->NowPs(); }

  std::vector<InProcessTransport*> cards_;
  std::vector<std::unique_ptr<driver::Transport>> transports_;
  std::deque<std::unique_ptr<Program>> programs_;
  Program* current_ = nullptr;  // whose turn it is; null: that of whoever called Run
  std::mutex mutex_;            // hands the turn over; everything else is of whoever has it
  std::condition_variable ended_;
  bool over_ = false;  // the simulation has thrown: time no longer moves by itself
};

}  // namespace spyre::cosim
