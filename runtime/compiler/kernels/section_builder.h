// SPDX-License-Identifier: Apache-2.0
// Writes the code of one section: registers by scope, constants once, loops as nested functions.
// Used by code generation only; one thread at a time.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "model/contract/program.h"

namespace spyre::compiler {

struct Reg {
  uint8_t number = 0;  // r0 is always 0
};
inline constexpr Reg kZero{};

// How a tensor instruction is ordered: tokens to take and to give, 0 for none.
struct Order {
  uint8_t wait = 0;
  uint8_t signal = 0;
};

// A register lives until the scope ends in which it was made: a loop body, or the section. Const,
// Table and Core give the same register again when an open scope already holds the value. Running
// out of registers is an Error(kInternal): it depends on the kind of kernel, never on sizes.
class SectionBuilder {
 public:
  SectionBuilder(Unit unit, uint32_t core_mask) : section_{unit, core_mask, {}} {}

  Reg Const(int64_t value);
  Reg Table(int entry);
  Reg Core(int index);
  Reg Var(Reg initial);  // a register to Set later; the others must not be

  Reg Add(Reg a, Reg b, int64_t scale = 1);  // a + b * scale
  Reg AddProduct(Reg base, Reg a, Reg b);    // base + a * b
  Reg Mul(Reg a, Reg b);
  Reg Min(Reg a, Reg b);
  // The number in LX at `address`, one of `rows`. tensor: position among the kernel's index
  // tensors.
  Reg Index(Reg address, Reg tensor, int64_t rows);
  void Set(Reg variable, Reg a, Reg b = kZero, int64_t scale = 1);  // variable = a + b * scale

  // for index in 0 .. count-1: body(index). A count below 1 skips the body.
  template <typename Body>
  void Loop(Reg count, Body body) {
    const Scope scope = Open();
    const Reg index = New();
    Append({Op::kLoop, 0, 0, 0, {index.number, count.number}, 0});
    deepest_ = std::max(deepest_, ++depth_);
    body(index);
    --depth_;
    Close(scope);
    Append({Op::kEnd, 0, 0, 0, {}, 0});
  }
  // Body when flag is 1, not when it is 0 or less.
  template <typename Body>
  void If(Reg flag, Body body) {
    Loop(flag, [&](Reg) { body(); });
  }
  template <typename Body>
  void Scoped(Body body) {
    const Scope scope = Open();
    body();
    Close(scope);
  }

  // Step `step` of the program begins, for the iteration-th time. Ring unit.
  void Mark(int64_t step, Reg iteration) { Append({Op::kMark, 0, 0, 0, {iteration.number}, step}); }
  void Emit(Op op, uint8_t fn, Order order, std::initializer_list<Reg> operands);
  void Wait(uint8_t token) { Append({Op::kNop, 0, token, 0, {}, 0}); }
  void Signal(uint8_t token) { Append({Op::kNop, 0, 0, token, {}, 0}); }
  void Signal(uint8_t token, int64_t times);
  void Wait(uint8_t token, int64_t times);

  // Loops within each other, at most so far. The card's sequencers have kMaxLoopDepth.
  int deepest() const { return deepest_; }
  size_t size() const { return section_.code.size(); }  // instructions so far
  Section Finish() { return std::move(section_); }

 private:
  struct Key {
    Op op;
    int64_t value;
    bool operator<(const Key& other) const {
      return op != other.op ? op < other.op : value < other.value;
    }
  };
  struct Scope {
    int next;
    std::map<Key, Reg> cache;
  };

  Reg New();
  Reg Cached(Op op, int64_t value);
  void Append(const Instruction& instruction) { section_.code.push_back(instruction); }
  Scope Open() const { return {next_, cache_}; }
  void Close(const Scope& scope) {
    next_ = scope.next;
    cache_ = scope.cache;
  }

  Section section_;
  int next_ = 1;
  int depth_ = 0, deepest_ = 0;  // of loops
  std::map<Key, Reg> cache_;
};

}  // namespace spyre::compiler
