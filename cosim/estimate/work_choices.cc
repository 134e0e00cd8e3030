// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/work_choices.h"

namespace spyre::cosim {
namespace {

using model::VectorLoop;

model::CoreletUse UseOf(compiler::CoreletSplit split) {
  switch (split) {
    case compiler::CoreletSplit::kOne:
      break;
    case compiler::CoreletSplit::kRows:
      return model::CoreletUse::kSameWeights;
    case compiler::CoreletSplit::kColumns:
      return model::CoreletUse::kOwnWeights;
  }
  return model::CoreletUse::kOne;
}

}  // namespace

void ChooseTile(model::MatmulWork& work, uint64_t lx_bytes) {
  const compiler::PublicTile tile = compiler::ChoosePublicTile(
      {static_cast<int64_t>(work.m), static_cast<int64_t>(work.n), static_cast<int>(work.m_parts),
       static_cast<int>(work.n_parts), static_cast<int>(work.k_parts)},
      static_cast<int64_t>(lx_bytes));
  work.tile_m = static_cast<uint64_t>(tile.m);
  work.tile_n = static_cast<uint64_t>(tile.n);
  work.corelets = UseOf(tile.corelets);
}

bool IsStep(UnaryFn fn) {
  return fn <= UnaryFn::kRelu || fn == UnaryFn::kRelu6 || fn == UnaryFn::kFloor;
}

VectorLoop LoopOf(UnaryFn fn) { return IsStep(fn) ? VectorLoop::kUnary : VectorLoop::kFunction; }

compiler::PublicStreamTile StreamTileOf(VectorLoop loop, bool through) {
  const bool wide = loop == VectorLoop::kReduce || loop == VectorLoop::kBroadcast ||
                    loop == VectorLoop::kConstant;
  return wide      ? compiler::kPublicWideTile
         : through ? compiler::kPublicThroughTile
                   : compiler::kPublicTile;
}

}  // namespace spyre::cosim
