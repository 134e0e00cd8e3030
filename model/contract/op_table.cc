// SPDX-License-Identifier: Apache-2.0
#include "model/contract/op_table.h"

#include "base/ranges.h"

namespace spyre {

const std::vector<OpInfo>& OpTable() {
  const Unit any = Unit::kLoad;  // unused for scalar rows
  static const std::vector<OpInfo> table = {
      {Op::kNop, "nop", true, any, FnSet::kNone, false, {}},
      {Op::kLi, "li", true, any, FnSet::kNone, true, {"rd"}},
      {Op::kTab, "tab", true, any, FnSet::kNone, true, {"rd"}},
      {Op::kCreg, "creg", true, any, FnSet::kNone, true, {"rd"}},
      {Op::kMadd, "madd", true, any, FnSet::kNone, true, {"rd", "ra", "rb"}},
      {Op::kMul, "mul", true, any, FnSet::kNone, true, {"rd", "ra", "rb"}},
      {Op::kMin, "min", true, any, FnSet::kNone, false, {"rd", "ra", "rb"}},
      {Op::kLoop, "loop", true, any, FnSet::kNone, false, {"rd", "ra"}},
      {Op::kEnd, "end", true, any, FnSet::kNone, false, {}},
      {Op::kLdx, "ldx", true, any, FnSet::kNone, true, {"rd", "ra", "rb"}},
      {Op::kLoad,
       "load",
       false,
       Unit::kLoad,
       FnSet::kNone,
       false,
       {"lx", "dev", "row_bytes", "rows", "dev_row_stride", "lx_row_stride", "planes",
        "dev_plane_stride", "lx_plane_stride", "group"}},
      {Op::kStore,
       "store",
       false,
       Unit::kStore,
       FnSet::kNone,
       false,
       {"lx", "dev", "row_bytes", "rows", "dev_row_stride", "lx_row_stride", "planes",
        "dev_plane_stride", "lx_plane_stride"}},
      {Op::kMatmul,
       "matmul",
       false,
       Unit::kPt,
       FnSet::kFormat,
       false,
       {"acc", "a", "b", "m", "n", "k", "a_kstick_stride", "b_nstick_stride", "acc_nstick_stride",
        "accumulate"}},
      {Op::kVbinary,
       "vbinary",
       false,
       Unit::kVector,
       FnSet::kBinary,
       false,
       {"dst", "a", "b", "rows", "planes", "dst_plane", "a_plane", "b_plane", "dst_row", "a_row",
        "b_row"}},
      {Op::kVunary,
       "vunary",
       false,
       Unit::kVector,
       FnSet::kUnary,
       false,
       {"dst", "a", "-", "rows", "planes", "dst_plane", "a_plane", "-", "dst_row", "a_row"}},
      {Op::kVreduce,
       "vreduce",
       false,
       Unit::kVector,
       FnSet::kReduce,
       false,
       {"dst", "a", "accumulate", "rows", "planes", "-", "a_plane", "-", "dst_row", "a_row", "-",
        "cols"}},
      {Op::kVreduceRows,
       "vreducerows",
       false,
       Unit::kVector,
       FnSet::kReduce,
       false,
       {"dst", "a", "accumulate", "rows", "planes", "dst_plane", "a_plane", "-", "-", "a_row"}},
      {Op::kVround,
       "vround",
       false,
       Unit::kVector,
       FnSet::kRound,
       false,
       {"dst", "a", "divisor", "rows", "planes", "dst_plane", "a_plane", "-", "dst_row", "a_row"}},
      {Op::kVaccumulate,
       "vaccumulate",
       false,
       Unit::kVector,
       FnSet::kCombine,
       false,
       {"dst", "a", "b", "count"}},
      {Op::kVfill,
       "vfill",
       false,
       Unit::kVector,
       FnSet::kNone,
       false,
       {"dst", "value", "row_bytes", "rows", "dst_row"}},
      {Op::kVreloc, "vreloc", false, Unit::kVector, FnSet::kNone, false, {"dst", "src", "records"}},
      {Op::kVtranspose,
       "vtranspose",
       false,
       Unit::kVector,
       FnSet::kNone,
       false,
       {"dst", "a", "dst_stick", "a_stick", "blocks", "dst_block", "a_block", "planes", "dst_plane",
        "a_plane"}},
      {Op::kVconvert,
       "vconvert",
       false,
       Unit::kVector,
       FnSet::kConvert,
       false,
       {"dst", "a", "pair", "rows", "planes", "dst_plane", "a_plane", "scale", "dst_row", "a_row",
        "shift"}},
      {Op::kSend,
       "send",
       false,
       Unit::kRing,
       FnSet::kNone,
       false,
       {"core", "dst_lx", "src_lx", "bytes", "token"}},
      {Op::kBarrier, "barrier", false, Unit::kRing, FnSet::kNone, false, {"mask", "id"}},
      {Op::kMark, "mark", false, Unit::kRing, FnSet::kNone, true, {"iteration"}},
  };
  return table;
}

const OpInfo* FindOp(uint8_t op) {
  // Opcodes are 0..8, 16.. and so on: a direct index is filled once.
  static const std::array<const OpInfo*, 256> index = [] {
    std::array<const OpInfo*, 256> rows{};
    for (const OpInfo& info : OpTable()) rows[static_cast<uint8_t>(info.op)] = &info;
    return rows;
  }();
  return index[op];
}

const OpInfo* FindOp(std::string_view mnemonic) {
  const auto& table = OpTable();
  auto it = FindIf(table, [&](const OpInfo& info) { return info.mnemonic == mnemonic; });
  return it == table.end() ? nullptr : &*it;
}

DataFormat OperandFormat(MatmulFn fn) {
  switch (fn) {
    case MatmulFn::kSen143Fp8:
    case MatmulFn::kSen143Fp8Wt:
      return DataFormat::kSen143Fp8;
    case MatmulFn::kSen152Fp8:
      return DataFormat::kSen152Fp8;
    case MatmulFn::kSenInt8:
      return DataFormat::kSenInt8;
    case MatmulFn::kSenInt4:
      return DataFormat::kSenInt4;
    case MatmulFn::kSen169Fp16:
      break;
  }
  return DataFormat::kSen169Fp16;
}

int WeightRows(MatmulFn fn) { return fn == MatmulFn::kSen143Fp8Wt ? 2 : 1; }

#define SPYRE_NAME(id, name, ...) name,
const std::vector<std::string_view>& FnNames(FnSet set) {
  static const std::vector<std::string_view> none;
  static const std::vector<std::string_view> binary = {SPYRE_BINARY_FUNCTIONS(SPYRE_NAME)};
  static const std::vector<std::string_view> unary = {SPYRE_UNARY_FUNCTIONS(SPYRE_NAME)};
  static const std::vector<std::string_view> reduce = {SPYRE_REDUCE_FUNCTIONS(SPYRE_NAME)};
  static const std::vector<std::string_view> format = {"sen169_fp16", "sen143_fp8", "sen152_fp8",
                                                       "senint8",     "senint4",    "sen143_fp8wt"};
  static const std::vector<std::string_view> convert = {"dl16tofp32",  "fp32todl16",  "fp8todl16",
                                                        "dl16tofp8",   "dl16tofp8wt", "dl16toint8",
                                                        "dl16toint8wt"};
  switch (set) {
    case FnSet::kConvert:
      return convert;
    case FnSet::kBinary:
      return binary;
    case FnSet::kUnary:
      return unary;
    case FnSet::kReduce:
    case FnSet::kCombine:
      return reduce;
    case FnSet::kFormat:
      return format;
    case FnSet::kNone:
    case FnSet::kRound:
      break;
  }
  return none;
}
#undef SPYRE_NAME

namespace {

struct Flag {
  uint8_t bit;
  std::string_view name;
};

// In the order in which a suffix lists them.
const std::vector<Flag>& Flags(FnSet set) {
  static const std::vector<Flag> none;
  static const std::vector<Flag> binary = {
      {kFp32Sticks, ".fp32"}, {kBroadcastALane0, ".a_lane0"}, {kBroadcastLane0, ".lane0"}};
  static const std::vector<Flag> unary = {{kFp32Sticks, ".fp32"}, {kBroadcastALane0, ".a_lane0"}};
  static const std::vector<Flag> reduce = {{kFp32Sticks, ".fp32"}};
  static const std::vector<Flag> round = {{kFp32Sticks, ".fp32"},
                                          {kRoundScale, ".scale"},
                                          {kRoundLane0, ".lane0"},
                                          {kRoundLane1, ".lane1"}};
  static const std::vector<Flag> format = {
      {kMatmulOneCorelet, ".one_corelet"}, {kMatmulRows, ".rows"}, {kMatmulColumns, ".columns"}};
  switch (set) {
    case FnSet::kBinary:
      return binary;
    case FnSet::kUnary:
      return unary;
    case FnSet::kReduce:
      return reduce;
    case FnSet::kRound:
      return round;
    case FnSet::kFormat:
      return format;
    case FnSet::kNone:
    case FnSet::kCombine:
    case FnSet::kConvert:
      break;
  }
  return none;
}

uint8_t WithoutFlags(FnSet set, uint8_t fn) {
  for (const Flag& flag : Flags(set)) fn &= static_cast<uint8_t>(~flag.bit);
  return fn;
}

}  // namespace

bool IsKnownFn(FnSet set, uint8_t fn) {
  constexpr uint8_t kOneLane = kRoundLane0 | kRoundLane1;
  if (set == FnSet::kRound && (fn & kOneLane) == kOneLane) return false;
  const uint8_t corelets = fn & kMatmulCorelets;
  if (set == FnSet::kFormat && (corelets & (corelets - 1)) != 0) return false;
  const uint8_t function = WithoutFlags(set, fn);
  const size_t functions = FnNames(set).size();
  return functions == 0 ? function == 0 : function < functions;
}

std::string FnSuffix(FnSet set, uint8_t fn) {
  if (set == FnSet::kFormat && fn == 0) return "";  // the format of everything else
  std::string suffix;
  if (!FnNames(set).empty()) {
    suffix = ".";
    suffix += FnNames(set).at(WithoutFlags(set, fn));
  }
  for (const Flag& flag : Flags(set)) {
    if ((fn & flag.bit) != 0) suffix += flag.name;
  }
  return suffix;
}

}  // namespace spyre
