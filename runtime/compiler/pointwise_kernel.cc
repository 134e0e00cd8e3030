// Unary and binary operations: load, compute, store, each one tile ahead of the next.
#include "model/contract/error.h"
#include "runtime/compiler/tile_walk.h"

namespace spyre::compiler {
namespace {

enum Token : uint8_t {
  kOutFull = 1,  // vector -> store
  kOutFree,      // store -> vector
  kInFree,       // vector -> load: one buffer of every input
  kInFull,       // load -> vector, one token for each input from here
};

constexpr int kSlots = 2;

}  // namespace

void BuildPointwise(Problem& problem, Kernel& kernel) {
  const Operation& op = *problem.operation;
  const int inputs = op.inputs();
  const int out_argument = inputs;
  const TileShape shape = TileShape::Choose(problem, out_argument);
  const uint64_t buffers = kSlots * (static_cast<uint64_t>(inputs) + 1);
  const auto most = static_cast<int64_t>(problem.lx_bytes / (buffers * kStickBytes));
  if (most < 1) {
    throw BadInput(
        "{}: needs {} bytes of LX, for {} buffers of one stick; {} may be used. Raise lx_bytes",
        op.name, buffers * kStickBytes, buffers, problem.lx_bytes);
  }
  const int64_t sticks = StreamTileSticks(problem, most);
  Axis& row_axis = problem.axes[shape.rows];
  row_axis.tile = BalancedTile(row_axis.slice, sticks);
  if (shape.planes >= 0) {
    Axis& plane_axis = problem.axes[shape.planes];
    plane_axis.tile = BalancedTile(plane_axis.slice, sticks / row_axis.tile);
  }
  const int64_t tile_bytes = shape.row_tile(problem) * shape.plane_tile(problem) * 128;
  LxPlan lx;
  std::vector<Buffers> in(inputs);
  for (Buffers& buffer : in) buffer = Buffers::Take(lx, tile_bytes, kSlots);
  const Buffers out = Buffers::Take(lx, tile_bytes, kSlots);
  const uint32_t mask = problem.core_mask();
  const std::vector<int> loops = shape.Loops();

  SectionBuilder load(Unit::kLoad, mask);
  {
    std::vector<int> arguments;
    std::vector<BufferCursor> cursors;
    cursors.reserve(in.size());
    for (int i = 0; i < inputs; ++i) {
      arguments.push_back(i);
      cursors.emplace_back(load, in[i]);
    }
    TileWalk walk(load, problem, arguments);
    walk.Run(loops, [&] {
      for (int i = 0; i < inputs; ++i) {
        const Order order{static_cast<uint8_t>(i == 0 ? kInFree : 0),
                          static_cast<uint8_t>(kInFull + i)};
        EmitTile(load, walk, problem, shape, Op::kLoad, order, i, cursors[i].at());
        cursors[i].Advance();
      }
    });
  }

  SectionBuilder vector(Unit::kVector, mask);
  {
    vector.Signal(kInFree, kSlots);
    std::vector<BufferCursor> cursors;
    cursors.reserve(in.size());
    for (const Buffers& buffers_in : in) cursors.emplace_back(vector, buffers_in);
    BufferCursor result(vector, out);
    TileWalk walk(vector, problem, {});
    const Reg stick = vector.Const(kStickBytes);
    const Reg plane = vector.Const(shape.row_tile(problem) * 128);
    walk.Run(loops, [&] {
      const Reg rows = walk.size(shape.rows);
      const Reg planes = shape.planes < 0 ? vector.Const(1) : walk.size(shape.planes);
      vector.Wait(kOutFree);
      const Order order{kInFull, kOutFull};
      if (inputs == 2) {
        vector.Wait(kInFull + 1);
        vector.Emit(Op::kVbinary, op.fn, order,
                    {result.at(), cursors[0].at(), cursors[1].at(), rows, planes, plane, plane,
                     plane, stick, stick, stick});
      } else {
        vector.Emit(
            Op::kVunary, op.fn, order,
            {result.at(), cursors[0].at(), kZero, rows, planes, plane, plane, kZero, stick, stick});
      }
      vector.Signal(kInFree);
      for (BufferCursor& cursor : cursors) cursor.Advance();
      result.Advance();
    });
  }

  SectionBuilder store(Unit::kStore, mask);
  {
    store.Signal(kOutFree, kSlots);
    BufferCursor result(store, out);
    TileWalk walk(store, problem, {out_argument});
    walk.Run(loops, [&] {
      EmitTile(store, walk, problem, shape, Op::kStore, {kOutFull, kOutFree}, out_argument,
               result.at());
      result.Advance();
    });
  }

  kernel.compute.core_registers = CoreRegisters(problem, {});
  kernel.compute.sections = {load.Finish(), store.Finish(), vector.Finish()};
  kernel.plan.lx_bytes_used = lx.used();
}

}  // namespace spyre::compiler
