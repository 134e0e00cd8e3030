// SPDX-License-Identifier: Apache-2.0
// The interpreter is in one file because it is the whole instruction set, read at once.
#include "tests/unit/runtime/compiler/program_interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/contract/formats.h"
#include "model/contract/memory_map.h"
#include "tests/unit/runtime/compiler/instruction_values.h"

namespace spyre::compiler::harness {

void Interpreter::Run() {
  for (int core = 0; core < kMaxCores; ++core) {
    if ((program_.core_mask >> core & 1) == 0) continue;
    cores_[core].lx.resize(program_.lx_bytes);
    cores_[core].written.resize(program_.lx_bytes, kUnwritten);
    for (const Section& section : program_.sections) {
      if ((section.core_mask >> core & 1) == 0) continue;
      units_.push_back(std::make_unique<UnitState>());
      units_.back()->core = core;
      units_.back()->section = &section;
    }
  }
  for (;;) {
    std::vector<UnitState*> ready;
    size_t done = 0;
    for (const auto& unit : units_) {
      if (unit->pc == unit->section->code.size()) {
        ++done;
      } else if (Ready(*unit)) {
        ready.push_back(unit.get());
      }
    }
    if (done == units_.size()) return CheckMulticasts();
    if (ready.empty()) Deadlock();
    UnitState& unit = *ready[random_() % ready.size()];
    do Step(unit);
    while (unit.pc < unit.section->code.size() && Ready(unit) && random_() % 64 != 0);
  }
}

void Interpreter::GiveLx(int core, LxState lx) {
  cores_[core].lx = std::move(lx.bytes);
  cores_[core].written = std::move(lx.written);
}

bool Interpreter::Ready(const UnitState& unit) const {
  const Instruction& in = unit.section->code[unit.pc];
  if (in.wait != 0 && cores_[unit.core].tokens[in.wait] <= 0) return false;
  return in.op != Op::kBarrier || AllAtBarrier(unit);
}

bool Interpreter::AllAtBarrier(const UnitState& unit) const {
  const auto mask = static_cast<uint32_t>(unit.reg[unit.section->code[unit.pc].reg[0]]);
  for (const auto& other : units_) {
    if (other->section->unit != Unit::kRing || (mask >> other->core & 1) == 0) continue;
    if (other->barriers > unit.barriers) continue;
    // One that is still at an earlier barrier, from which this unit has gone on, is not at this.
    if (other->barriers < unit.barriers) return false;
    const bool done = other->pc == other->section->code.size();
    if (done || other->section->code[other->pc].op != Op::kBarrier) return false;
  }
  return true;
}

void Interpreter::Deadlock() const {
  std::string who;
  for (const auto& unit : units_) {
    if (unit->pc == unit->section->code.size()) continue;
    who += fmt::format(" core {} {} pc {} waits for {};", unit->core, UnitName(unit->section->unit),
                       unit->pc, unit->section->code[unit->pc].wait);
  }
  Fail("deadlock:{}", who);
}

void Interpreter::CheckMulticasts() {
  std::array<size_t, kMaxCores> next{};
  for (bool moved = true; moved;) {
    moved = false;
    for (int core = 0; core < kMaxCores; ++core) {
      if (next[core] == cores_[core].multicasts.size()) continue;
      const auto& box = cores_[core].multicasts[next[core]];
      const auto meets = [&](int other) {
        return (box[9] >> other & 1) == 0 || (next[other] < cores_[other].multicasts.size() &&
                                              cores_[other].multicasts[next[other]] == box);
      };
      bool all = true;
      for (int other = 0; other < kMaxCores; ++other) all = all && meets(other);
      if (!all) continue;
      for (int other = 0; other < kMaxCores; ++other) next[other] += box[9] >> other & 1;
      moved = true;
    }
  }
  for (int core = 0; core < kMaxCores; ++core) {
    if (next[core] < cores_[core].multicasts.size()) {
      Fail("core {}: multicast {} of {} never meets its group", core, next[core],
           cores_[core].multicasts.size());
    }
  }
}

uint8_t* Interpreter::Write(int core, int64_t address, int64_t bytes) {
  Check(core, address, bytes);
  std::fill_n(cores_[core].written.begin() + address, bytes, kWritten);
  return cores_[core].lx.data() + address;
}

const uint8_t* Interpreter::Read(int core, int64_t address, int64_t bytes) {
  Check(core, address, bytes);
  const auto first = cores_[core].written.begin() + address;
  const auto unwritten = std::find(first, first + bytes, kUnwritten);
  if (unwritten != first + bytes) {
    Fail("core {}: LX {} is read before it is written", core,
         unwritten - cores_[core].written.begin());
  }
  return cores_[core].lx.data() + address;
}

int64_t Interpreter::ReadNumber(int core, int64_t address, int64_t bound) {
  uint32_t number = 0;
  std::memcpy(&number, Read(core, address, sizeof number), sizeof number);
  if (number >= bound) Fail("core {}: number {} is not below {}", core, number, bound);
  return number;
}

void Interpreter::Check(int core, int64_t address, int64_t bytes) const {
  const auto size = static_cast<int64_t>(cores_[core].lx.size());
  if (address < 0 || bytes < 0 || address + bytes > size) {
    Fail("core {}: LX {}, {} bytes: beyond the program's {}", core, address, bytes, size);
  }
}

uint16_t Interpreter::ReadCode(int core, int64_t address) {
  uint16_t code;
  std::memcpy(&code, Read(core, address, 2), 2);
  return code;
}

float Interpreter::ReadFloat(int core, int64_t address) {
  float value;
  std::memcpy(&value, Read(core, address, 4), 4);
  return value;
}

void Interpreter::WriteCode(int core, int64_t address, uint16_t code) {
  std::memcpy(Write(core, address, 2), &code, 2);
}

float Interpreter::ReadLane(uint8_t fn, int core, int64_t stick, int64_t lane) {
  return (fn & kFp32Sticks) != 0 ? ReadFloat(core, stick + lane * 4)
                                 : ReadDlf(core, stick + lane * 2);
}

Interpreter::Lanes Interpreter::ReadLanes(uint8_t fn, int core, int64_t stick, bool first_only) {
  const bool fp32 = (fn & kFp32Sticks) != 0;
  const int64_t lanes = first_only ? 1 : LanesOf(fn), bytes = fp32 ? 4 : 2;
  const uint8_t* const from = Read(core, stick, lanes * bytes);
  Lanes values;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (fp32) {
      std::memcpy(&values[lane], from + lane * bytes, 4);
    } else {
      uint16_t code;
      std::memcpy(&code, from + lane * bytes, 2);
      values[lane] = DlfToFloat(code);
    }
  }
  if (first_only) values.fill(values[0]);
  return values;
}

void Interpreter::WriteLane(uint8_t fn, int core, int64_t stick, int64_t lane, double value) {
  if ((fn & kFp32Sticks) != 0) {
    WriteFloat(core, stick + lane * 4, std::isnan(value) ? NAN : static_cast<float>(value));
  } else {
    WriteCode(core, stick + lane * 2, DlfFromDouble(value));
  }
}

void Interpreter::WriteFloat(int core, int64_t address, float value) {
  std::memcpy(Write(core, address, 4), &value, 4);
}

void Interpreter::Step(UnitState& u) {
  const Instruction& in = u.section->code[u.pc];
  if (in.wait != 0) --cores_[u.core].tokens[in.wait];
  const auto a = [&] { return u.reg[in.reg[1]]; };
  const auto b = [&] { return u.reg[in.reg[2]]; };
  const auto set = [&](int64_t value) {
    if (in.reg[0] != 0) u.reg[in.reg[0]] = value;
  };
  size_t next = u.pc + 1;
  switch (in.op) {
    case Op::kNop:
    case Op::kMark:
      break;
    case Op::kLi:
      set(in.imm);
      break;
    case Op::kTab:
      set(static_cast<int64_t>(program_.address_table.at(in.imm)));
      break;
    case Op::kCreg:
      set(program_.core_registers.empty() ? 0 : program_.core_registers[u.core][in.imm]);
      break;
    case Op::kMadd:
      set(a() + b() * in.imm);
      break;
    case Op::kMul:
      set(a() * b() + in.imm);
      break;
    case Op::kMin:
      set(std::min(a(), b()));
      break;
    case Op::kLdx:
      set(ReadNumber(u.core, a(), in.imm));
      break;
    case Op::kLoop:
      if (a() <= 0) {
        for (int depth = 1; depth > 0; ++next) {
          depth += u.section->code[next].op == Op::kLoop ? 1 : 0;
          depth -= u.section->code[next].op == Op::kEnd ? 1 : 0;
        }
      } else {
        u.loops.push_back({next, in.reg[0], a()});
        set(0);
      }
      break;
    case Op::kEnd:
      if (--u.loops.back().left > 0) {
        next = u.loops.back().body;
        if (u.loops.back().index != 0) ++u.reg[u.loops.back().index];
      } else {
        u.loops.pop_back();
      }
      break;
    default:
      Execute(u, in);
  }
  u.pc = next;
  if (in.signal != 0) ++cores_[u.core].tokens[in.signal];
}

void Interpreter::Execute(UnitState& u, const Instruction& in) {
  const int core = u.core;
  std::array<int64_t, 12> o;
  std::transform(in.reg.begin(), in.reg.end(), o.begin(), [&](uint8_t r) { return u.reg[r]; });
  const auto for_sticks = [&](auto body) {
    for (int64_t p = 0; p < o[4]; ++p) {
      for (int64_t r = 0; r < o[3]; ++r) body(p, r);
    }
  };
  const auto reduce_fn = static_cast<ReduceFn>(in.fn & kFnMask);
  const int64_t lanes = LanesOf(in.fn);
  switch (in.op) {
    case Op::kLoad:
    case Op::kStore:
      if (in.op == Op::kLoad && o[9] != 0) {
        if ((o[9] >> core & 1) == 0) Fail("core {}: not in its multicast group", core);
        cores_[core].multicasts.push_back(o);
      }
      for (int64_t p = 0; p < o[6]; ++p) {
        for (int64_t r = 0; r < o[3]; ++r) Move(in.op == Op::kLoad, core, o, p, r);
      }
      break;
    case Op::kMatmul:
      Matmul(core, o);
      break;
    case Op::kVbinary:
      for_sticks([&](int64_t p, int64_t r) {
        Binary(core, in.fn, o[0] + p * o[5] + r * o[8], o[1] + p * o[6] + r * o[9],
               o[2] + p * o[7] + r * o[10]);
      });
      break;
    case Op::kVunary:
      for_sticks([&](int64_t p, int64_t r) {
        const int64_t from = o[1] + p * o[6] + r * o[9];
        const int64_t to = o[0] + p * o[5] + r * o[8];
        if ((in.fn & kFnMask) == FnByte(UnaryFn::kCopy)) {
          for (int64_t lane = 0; lane < lanes; ++lane)
            MoveLane(in.fn, core, to, from, lane, (in.fn & kBroadcastALane0) != 0 ? 0 : lane);
          return;
        }
        const Lanes a = ReadLanes(in.fn, core, from, (in.fn & kBroadcastALane0) != 0);
        for (int64_t lane = 0; lane < lanes; ++lane) {
          WriteLane(in.fn, core, to, lane,
                    UnaryValue(static_cast<UnaryFn>(in.fn & kFnMask), a[lane]));
        }
      });
      break;
    case Op::kVreduce:
      for (int64_t r = 0; r < o[3]; ++r) {
        const int64_t at = o[0] + r * o[8];
        float sum = o[2] == 0 ? FoldStart(reduce_fn) : ReadFloat(core, at);
        for (int64_t p = 0; p < o[4] && p * lanes < o[11]; ++p) {
          float chunk = FoldStart(reduce_fn);
          for (int64_t lane = 0; lane < std::min<int64_t>(lanes, o[11] - lanes * p); ++lane) {
            const float x = ReadLane(in.fn, core, o[1] + p * o[6] + r * o[9], lane);
            chunk = FoldValue(reduce_fn, chunk, FoldElement(reduce_fn, x));
          }
          sum = FoldValue(reduce_fn, sum, chunk);
        }
        WriteFloat(core, at, sum);
      }
      break;
    case Op::kVreduceRows:
      for (int64_t p = 0; p < o[4]; ++p) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const int64_t at = o[0] + p * o[5] + lane * 4;
          float sum = o[2] == 0 ? FoldStart(reduce_fn) : ReadFloat(core, at);
          for (int64_t first = 0; first < o[3]; first += 64) {
            float chunk = FoldStart(reduce_fn);
            for (int64_t r = first; r < std::min(o[3], first + 64); ++r) {
              const float x = ReadLane(in.fn, core, o[1] + p * o[6] + r * o[9], lane);
              chunk = FoldValue(reduce_fn, chunk, FoldElement(reduce_fn, x));
            }
            sum = FoldValue(reduce_fn, sum, chunk);
          }
          WriteFloat(core, at, sum);
        }
      }
      break;
    case Op::kVround:
      for_sticks([&](int64_t p, int64_t r) {
        const int64_t to = o[0] + p * o[5] + r * o[8];
        const auto rounded = [&](int64_t lane) {
          const float value = ReadFloat(core, o[1] + p * o[6] + r * o[9] + lane * 4);
          if ((in.fn & kRoundScale) != 0) {
            float factor;
            std::memcpy(&factor, &o[2], sizeof factor);
            return value * factor;
          }
          return o[2] > 1 ? value / static_cast<float>(o[2]) : value;
        };
        if ((in.fn & kRoundLane1) != 0) {
          WriteLane(in.fn, core, to, 1, double{rounded(0)});
          return;
        }
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const bool counts = lane == 0 || (in.fn & kRoundLane0) == 0;
          WriteLane(in.fn, core, to, lane, counts ? double{rounded(lane)} : 0.0);
        }
      });
      break;
    case Op::kVaccumulate:
      for (int64_t i = 0; i < o[3]; ++i) {
        const float a = ReadFloat(core, o[1] + i * 4);
        WriteFloat(core, o[0] + i * 4, FoldValue(reduce_fn, a, ReadFloat(core, o[2] + i * 4)));
      }
      break;
    case Op::kVfill:
      for (int64_t r = 0; r < o[3]; ++r) {
        for (int64_t i = 0; i < o[2]; i += 2)
          WriteCode(core, o[0] + r * o[4] + i, static_cast<uint16_t>(o[1]));
      }
      break;
    case Op::kVreloc:
      for (int64_t i = 0; i < o[2]; ++i) {
        CorrectionRecord record;
        std::memcpy(&record, Read(core, o[1] + i * 64, 64), 64);
        std::array<uint64_t, kTableEntriesPerTensor> entries{};
        entries[0] =
            record.kind == 1 ? SegmentAddress(record.region, record.offset) : record.offset;
        std::copy(std::begin(record.stride), std::end(record.stride), entries.begin() + 1);
        std::memcpy(Write(core, o[0] + i * 64, 64), entries.data(), 64);
      }
      break;
    case Op::kVconvert:
      for_sticks([&](int64_t p, int64_t r) {
        Convert(core, static_cast<ConvertFn>(in.fn), o, o[0] + p * o[5] + r * o[8],
                o[1] + p * o[6] + r * o[9]);
      });
      break;
    case Op::kVtranspose:
      for (int64_t p = 0; p < o[7]; ++p) {
        for (int64_t q = 0; q < o[4]; ++q) {
          const int64_t from = o[1] + p * o[9] + q * o[6];
          const int64_t to = o[0] + p * o[8] + q * o[5];
          std::array<uint16_t, 64 * 64> block;
          for (int64_t i = 0; i < 64 * 64; ++i)
            block[i] = ReadCode(core, from + i / 64 * o[3] + i % 64 * 2);
          for (int64_t i = 0; i < 64 * 64; ++i)
            WriteCode(core, to + i % 64 * o[2] + i / 64 * 2, block[i]);
        }
      }
      break;
    case Op::kSend: {
      const int64_t peer = o[0];
      if (peer < 0 || peer >= kMaxCores || (program_.core_mask >> peer & 1) == 0)
        Fail("send to core {}", peer);
      if (o[3] > 0) {
        const uint8_t* data = Read(core, o[2], o[3]);
        std::memcpy(Write(static_cast<int>(peer), o[1], o[3]), data, o[3]);
      }
      ++cores_[peer].tokens.at(o[4]);
      break;
    }
    case Op::kBarrier:
      ++u.barriers;
      break;
    default:
      Fail("opcode {} is not interpreted", static_cast<int>(in.op));
  }
}

void Interpreter::Convert(int core, ConvertFn fn, const std::array<int64_t, 12>& o, int64_t dst,
                          int64_t a) {
  const bool fp32 = fn == ConvertFn::kDl16ToFp32 || fn == ConvertFn::kFp32ToDl16;
  const bool weights = fn == ConvertFn::kDl16ToFp8Wt || fn == ConvertFn::kDl16ToInt8Wt;
  const int64_t half = fp32 ? 32 : 64;
  const int64_t group = weights ? 1 : fp32 ? 4 : 8;
  const auto bits = [](int64_t word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  };
  for (int64_t s = 0; s < 2; ++s) {
    for (int64_t lane = 0; lane < half; ++lane) {
      const int64_t slot = (lane / group * 2 + s) * group + lane % group;
      const int64_t wide = s * o[2] + lane * (fp32 ? 4 : 2);
      switch (fn) {
        case ConvertFn::kDl16ToFp32:
          WriteFloat(core, dst + wide, ReadDlf(core, a + slot * 2));
          break;
        case ConvertFn::kFp32ToDl16:
          WriteCode(core, dst + slot * 2, DlfFromFloat(ReadFloat(core, a + wide)));
          break;
        case ConvertFn::kFp8ToDl16:
          WriteCode(core, dst + wide, DlfFromFloat(Fp8E4M3ToFloat(*Read(core, a + slot, 1))));
          break;
        case ConvertFn::kDl16ToFp8:
        case ConvertFn::kDl16ToFp8Wt:
          *Write(core, dst + slot, 1) = Fp8E4M3FromFloat(ReadDlf(core, a + wide));
          break;
        case ConvertFn::kDl16ToInt8:
        case ConvertFn::kDl16ToInt8Wt: {
          const float scaled = ReadDlf(core, a + wide) * bits(o[7]);
          const float value = scaled + bits(o[10]);
          const float whole = std::isnan(value) ? 0 : std::nearbyint(value);
          const auto code = static_cast<int8_t>(std::clamp(whole, -128.0F, 127.0F));
          *Write(core, dst + slot, 1) = static_cast<uint8_t>(code);
          break;
        }
      }
    }
  }
}

void Interpreter::MoveLane(uint8_t flags, int core, int64_t dst, int64_t src, int64_t lane,
                           int64_t from) {
  if ((flags & kFp32Sticks) != 0) {
    WriteFloat(core, dst + lane * 4, ReadFloat(core, src + from * 4));
  } else {
    WriteCode(core, dst + lane * 2, ReadCode(core, src + from * 2));
  }
}

void Interpreter::Binary(int core, uint8_t flags, int64_t dst, int64_t a_stick, int64_t b_stick) {
  const auto fn = static_cast<BinaryFn>(flags & kFnMask);
  const int64_t lanes = LanesOf(flags);
  if (fn == BinaryFn::kNormScale) {
    const float mean = ReadLane(flags, core, a_stick, 0);
    const float variance = ReadLane(flags, core, a_stick, 1) - mean * mean;
    const float scale =
        static_cast<float>(1 / std::sqrt(double{variance + ReadLane(flags, core, b_stick, 0)}));
    for (int64_t lane = 0; lane < lanes; ++lane)
      WriteLane(flags, core, dst, lane, lane == 0 ? double{scale} : 0.0);
    return;
  }
  const Lanes a = ReadLanes(flags, core, a_stick, (flags & kBroadcastALane0) != 0);
  if (fn == BinaryFn::kSelect) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if (a[lane] == 0) continue;
      MoveLane(flags, core, dst, b_stick, lane, (flags & kBroadcastLane0) != 0 ? 0 : lane);
    }
    return;
  }
  const Lanes b = ReadLanes(flags, core, b_stick, (flags & kBroadcastLane0) != 0);
  for (int64_t lane = 0; lane < lanes; ++lane)
    WriteLane(flags, core, dst, lane, BinaryValue(fn, a[lane], b[lane]));
}

void Interpreter::Move(bool load, int core, const std::array<int64_t, 12>& o, int64_t p,
                       int64_t r) {
  const auto device = static_cast<uint64_t>(o[1] + p * o[7] + r * o[4]);
  const int64_t lx = o[0] + p * o[8] + r * o[5];
  if (!IsStickAligned(device) || o[2] % 128 != 0)
    Fail("core {}: device address 0x{:x} is misaligned", core, device);
  uint8_t* memory = memory_.At(device, o[2]);
  if (load) {
    std::memcpy(Write(core, lx, o[2]), memory, o[2]);
    bytes_loaded_ += o[2];
  } else {
    std::memcpy(memory, Read(core, lx, o[2]), o[2]);
  }
}

void Interpreter::Matmul(int core, const std::array<int64_t, 12>& o) {
  const int64_t m = o[3];
  const int64_t n = o[4];
  const int64_t k = o[5];
  if (n % 64 != 0) Fail("core {}: matmul over {} columns", core, n);
  std::vector<float> b(k * n);
  for (int64_t kk = 0; kk < k; ++kk) {
    for (int64_t j = 0; j < n; ++j)
      b[kk * n + j] = ReadDlf(core, o[2] + j / 64 * o[7] + kk * 128 + j % 64 * 2);
  }
  std::vector<float> chunk(n);
  for (int64_t i = 0; i < m; ++i) {
    const auto at = [&](int64_t j) { return o[0] + j / 64 * o[8] + i * 256 + j % 64 * 4; };
    for (int64_t first = 0; first < std::max<int64_t>(k, 1); first += 64) {
      std::fill(chunk.begin(), chunk.end(), 0.0F);
      for (int64_t kk = first; kk < std::min(k, first + 64); ++kk) {
        const float a = ReadDlf(core, o[1] + kk / 64 * o[6] + i * 128 + kk % 64 * 2);
        for (int64_t j = 0; j < n; ++j) chunk[j] += a * b[kk * n + j];
      }
      for (int64_t j = 0; j < n; ++j) {
        WriteFloat(core, at(j),
                   (first == 0 && o[9] == 0 ? 0.0F : ReadFloat(core, at(j))) + chunk[j]);
      }
    }
  }
}

std::vector<Program> ProgramsOf(const Kernel& kernel) {
  std::vector<Program> programs;
  const auto add = [&](const Program& program) {
    const std::vector<uint8_t> image = Encode(program);
    programs.push_back(Decode(image.data(), image.size()));
  };
  add(kernel.compute);
  for (const Program& program : kernel.more) add(program);
  return programs;
}

void RunInOrder(const std::vector<Program>& programs, Memory& memory, uint32_t seed) {
  std::unique_ptr<Interpreter> before;
  for (const Program& program : programs) {
    auto interpreter = std::make_unique<Interpreter>(program, memory, seed);
    for (int core = 0; before != nullptr && core < kMaxCores; ++core)
      if ((program.core_mask >> core & 1) != 0) interpreter->GiveLx(core, before->TakeLx(core));
    interpreter->Run();
    before = std::move(interpreter);
  }
}

}  // namespace spyre::compiler::harness
