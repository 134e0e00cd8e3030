// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/section_builder.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::compiler {

Reg SectionBuilder::New() {
  if (next_ >= kRegisters) {
    throw InternalError("code generation for the {} unit needs more than {} registers",
                        UnitName(section_.unit), kRegisters);
  }
  return {static_cast<uint8_t>(next_++)};
}

Reg SectionBuilder::Cached(Op op, int64_t value) {
  const Key key{op, value};
  auto it = cache_.find(key);
  if (it != cache_.end()) return it->second;
  const Reg rd = New();
  Append({op, 0, 0, 0, {rd.number}, value});
  cache_[key] = rd;
  return rd;
}

Reg SectionBuilder::Const(int64_t value) { return value == 0 ? kZero : Cached(Op::kLi, value); }
Reg SectionBuilder::Table(int entry) { return Cached(Op::kTab, entry); }
Reg SectionBuilder::Core(int index) { return Cached(Op::kCreg, index); }

Reg SectionBuilder::Var(Reg initial) {
  const Reg rd = New();
  Set(rd, initial);
  return rd;
}

Reg SectionBuilder::Add(Reg a, Reg b, int64_t scale) {
  const Reg rd = New();
  Set(rd, a, b, scale);
  return rd;
}

Reg SectionBuilder::AddProduct(Reg base, Reg a, Reg b) {
  const Reg rd = Mul(a, b);
  Set(rd, base, rd);
  return rd;
}

Reg SectionBuilder::Mul(Reg a, Reg b) {
  const Reg rd = New();
  Append({Op::kMul, 0, 0, 0, {rd.number, a.number, b.number}, 0});
  return rd;
}

Reg SectionBuilder::Index(Reg address, Reg tensor, int64_t rows) {
  const Reg rd = New();
  Append({Op::kLdx, 0, 0, 0, {rd.number, address.number, tensor.number}, rows});
  return rd;
}

Reg SectionBuilder::Min(Reg a, Reg b) {
  const Reg rd = New();
  Append({Op::kMin, 0, 0, 0, {rd.number, a.number, b.number}, 0});
  return rd;
}

void SectionBuilder::Set(Reg variable, Reg a, Reg b, int64_t scale) {
  Append({Op::kMadd, 0, 0, 0, {variable.number, a.number, b.number}, scale});
}

void SectionBuilder::Emit(Op op, uint8_t fn, Order order, std::initializer_list<Reg> operands) {
  Instruction instruction{op, fn, order.wait, order.signal, {}, 0};
  std::transform(operands.begin(), operands.end(), instruction.reg.begin(),
                 [](Reg reg) { return reg.number; });
  Append(instruction);
}

void SectionBuilder::Signal(uint8_t token, int64_t times) {
  Scoped([&] { Loop(Const(times), [&](Reg) { Signal(token); }); });
}

void SectionBuilder::Wait(uint8_t token, int64_t times) {
  Scoped([&] { Loop(Const(times), [&](Reg) { Wait(token); }); });
}

}  // namespace spyre::compiler
