// SPDX-License-Identifier: Apache-2.0
// EmitBundle (bundle.h): one SuperDSC for each operation of a kernel source, in depth-first order,
// and the symbols for the addresses that the dialect leaves to the bundle.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/op_spec/unroll.h"
#include "runtime/compiler/sdsc/op_alignment.h"
#include "runtime/compiler/sdsc/sdsc_draft.h"

namespace spyre::compiler {
namespace {

constexpr auto kSegmentSize = static_cast<int64_t>(kSegmentBytes);
constexpr int kMaxBases = 7;  // segments that a kernel's tensors may be in, the pool's included
constexpr int64_t kMaxTrips = int64_t{1} << 31;
constexpr size_t kMaxDepth = 8;
constexpr int64_t kMaxAddress = int64_t{1} << 40;

// Where a tensor begins, whatever the form of the source: of an argument, the bytes behind its
// base; in the pool and in LX, the offset.
struct TensorPlace {
  enum class Base { kArgument, kPool, kLx, kAbsolute };
  Base base = Base::kAbsolute;
  int argument = -1;
  int64_t offset = 0;
  int64_t segment_base = -1;  // kArgument: where the source puts the base, -1: it does not say
};

// Sources of the coarse-tiling RFC give arguments device virtual addresses (base: a segment each),
// the newest give them their number. No address of an argument but the first is inside segment 0.
TensorPlace PlaceOf(const TensorArg& arg) {
  if (arg.address < 0 || arg.address >= kMaxAddress) {
    throw BadInput("allocation at {}: an address is from 0 to {}", arg.address, kMaxAddress - 1);
  }
  if (arg.memory == Memory::kLx) {
    constexpr auto kEnd = static_cast<int64_t>(kLxBytes);
    if (arg.address >= kEnd)
      throw BadInput("allocation in LX at {}: LX ends at {}", arg.address, kEnd);
    return {TensorPlace::Base::kLx, -1, arg.address, -1};
  }
  if (arg.memory == Memory::kPool) return {TensorPlace::Base::kPool, -1, arg.address, -1};
  if (arg.arg_index < 0) return {TensorPlace::Base::kAbsolute, -1, arg.address, -1};
  if (arg.address >= kSegmentSize) {
    const int64_t offset = arg.address % kSegmentSize;
    return {TensorPlace::Base::kArgument, arg.arg_index, offset, arg.address - offset};
  }
  if (arg.address < arg.arg_index) {
    throw BadInput("argument {} is allocated at {}, which is neither its number nor in a segment",
                   arg.arg_index, arg.address);
  }
  return {TensorPlace::Base::kArgument, arg.arg_index, arg.address - arg.arg_index, -1};
}

void Walk(const std::vector<SpecNode>& nodes, const std::function<void(const OpSpec&)>& visit) {
  for (const SpecNode& node : nodes) {
    if (const auto* op = std::get_if<OpSpec>(&node)) visit(*op);
    if (const auto* loop = std::get_if<LoopSpec>(&node)) Walk(loop->body, visit);
  }
}

// The stride of an iteration symbol is one tile, which is not the step of the outer loop.
void RefuseTwoLoopsAlongOneSymbol(const OpSpec& op) {
  std::set<std::string> seen;
  for (const std::vector<std::string>& level : op.tiled_symbols) {
    for (const std::string& name : level) {
      if (seen.insert(name).second) continue;
      throw BadInput(
          "operation '{}': two loops around it advance '{}', which does not say how far the outer "
          "one steps: give each loop a symbol of its own, and the tensors device_tile_advance_expr",
          op.op, name);
    }
  }
}

class Emitter {
 public:
  Emitter(const KernelSource& source, BundleDialect dialect) : source_(source), dialect_(dialect) {}

  Bundle Run() {
    bundle_.name = source_.name;
    FindArguments();
    if (dialect_ == BundleDialect::kBakedAddresses) {
      bundle_.body = Nodes(UnrollLoops(source_).body);
    } else {
      bundle_.body = Nodes(source_.body);
    }
    return std::move(bundle_);
  }

 private:
  void FindArguments() {
    std::set<int> indices;
    Walk(source_.body, [&](const OpSpec& op) {
      RefuseTwoLoopsAlongOneSymbol(op);
      for (const TensorArg& arg : op.args) {
        const TensorPlace place = PlaceOf(arg);
        if (place.base == TensorPlace::Base::kArgument) indices.insert(place.argument);
        has_pool_ = has_pool_ || place.base == TensorPlace::Base::kPool;
        has_scratch_ = has_scratch_ || InPool(place);
      }
    });
    if (dialect_ == BundleDialect::kSymbolicArguments) {
      if (has_scratch_) bundle_.arguments.push_back({BundleArgument::Kind::kPool, "pool", 0, 1});
      for (int index : indices) {
        position_[index] = static_cast<int>(bundle_.arguments.size());
        bundle_.arguments.push_back(
            {BundleArgument::Kind::kTensor, fmt::format("arg_{}", index), 0, 1});
      }
      return;
    }
    const int most = has_pool_ ? kMaxBases - 1 : kMaxBases;
    if (!indices.empty() && *indices.rbegin() >= most) {
      throw CompileError("IndexError", "arguments",
                         fmt::format("kernel argument {}: the arguments are at most {}{}",
                                     *indices.rbegin(), most, has_pool_ ? " beside a pool" : ""));
    }
  }

  // Scratch in device memory without an argument is the pool's.
  static bool InPool(const TensorPlace& place) {
    return place.base == TensorPlace::Base::kPool || place.base == TensorPlace::Base::kAbsolute;
  }

  std::vector<BundleNode> Nodes(const std::vector<SpecNode>& nodes) {
    std::vector<BundleNode> result;
    for (const SpecNode& node : nodes) {
      if (const auto* op = std::get_if<UnimplementedOp>(&node)) {
        throw CompileError(
            "Unsupported", "unimplemented_op",
            fmt::format("'{}' is an UnimplementedOp: the front end could not lower it, and without "
                        "it the bundle would compute something else",
                        op->op));
      }
      if (const auto* op = std::get_if<OpSpec>(&node)) result.emplace_back(Execute(*op));
      if (const auto* loop = std::get_if<LoopSpec>(&node)) result.emplace_back(Loop(*loop));
    }
    return result;
  }

  BundleLoop Loop(const LoopSpec& loop) {
    if (const auto* symbol = std::get_if<std::string>(&loop.count)) {
      throw CompileError("NotImplementedError", "symbolic_loop_count",
                         fmt::format("a loop with the symbolic trip count {}", *symbol));
    }
    const int64_t count = std::get<int64_t>(loop.count);
    if (count < 1 || count > kMaxTrips) {
      throw BadInput("a loop has a trip count of {}; from 1 to {}", count, kMaxTrips);
    }
    if (counts_.size() == kMaxDepth) {
      throw BadInput("more than {} loops inside each other", kMaxDepth);
    }
    counts_.push_back(count);
    BundleLoop result{count, -1, Nodes(loop.body)};
    counts_.pop_back();
    return result;
  }

  BundleExecute Execute(const OpSpec& op) {
    const int number = static_cast<int>(bundle_.dscs.size());
    SdscDraft draft = DraftSdsc(AlignTensors(op), number, dialect_);
    BundleExecute execute{number, {}};
    ids_.clear();
    for (size_t i = 0; i < op.args.size(); ++i) {
      SdscTensor& tensor = draft.dsc.tensors[i];
      const TensorPlace place = PlaceOf(op.args[i]);
      const std::vector<int64_t> strides = LoopStrides(op, op.args[i]);
      tensor.symbolic =
          dialect_ != BundleDialect::kBakedAddresses && place.base != TensorPlace::Base::kLx;
      if (tensor.symbolic && dialect_ == BundleDialect::kSymbolicArguments) {
        RegisterBase(place, draft.core_offset[i].front());
      }
      for (int64_t offset : draft.core_offset[i]) {
        const AddressExpression address = Address(place, place.offset + offset, strides);
        if (!tensor.symbolic) {
          tensor.start.push_back(address.constant);
          continue;
        }
        const int64_t id = SymbolOf(place, address, draft.core_offset[i].front());
        tensor.start.push_back(id);
        Bind(id, address, execute);
      }
    }
    bundle_.files.push_back(fmt::format("sdsc_{}.json", number));
    bundle_.dscs.push_back(std::move(draft.dsc));
    return execute;
  }

  // One per enclosing loop. Tensors in LX are at the same address in every iteration.
  std::vector<int64_t> LoopStrides(const OpSpec& op, const TensorArg& arg) const {
    std::vector<int64_t> strides = LoopStrideBytes(op, arg, counts_.size());
    if (arg.memory != Memory::kLx) return strides;
    if (arg.tile_advance && AnyFits(strides, [](int64_t s) { return s != 0; })) {
      throw CompileError("NotImplementedError", "advancing_lx_tensor",
                         fmt::format("operation '{}': a tensor in LX advances in a loop", op.op))
          .Subject(op.op);
    }
    return std::vector<int64_t>(counts_.size(), 0);
  }

  AddressExpression Address(const TensorPlace& place, int64_t offset,
                            const std::vector<int64_t>& strides) const {
    AddressExpression address{-1, offset, strides};
    if (dialect_ == BundleDialect::kSymbolicArguments) {
      if (place.base == TensorPlace::Base::kArgument)
        address.argument = position_.at(place.argument);
      if (InPool(place)) address.argument = 0;
    } else if (place.base == TensorPlace::Base::kArgument) {
      address.constant += place.segment_base >= 0
                              ? place.segment_base
                              : kSegmentSize * (place.argument + (has_pool_ ? 1 : 0));
    }
    return address;
  }

  // What makes two addresses of one operation share a symbol.
  enum class Kind { kBase, kView, kCore, kPool, kConstant };
  using Key = std::tuple<Kind, int, int64_t>;

  int64_t IdOf(const Key& key) {
    const auto [entry, is_new] = ids_.emplace(key, next_id_);
    if (is_new) --next_id_;
    return entry->second;
  }

  // The newest form counts the base of an argument as a symbol even if no core starts there.
  void RegisterBase(const TensorPlace& place, int64_t view) {
    if (place.base != TensorPlace::Base::kArgument) return;
    IdOf({Kind::kBase, place.argument, 0});
    if (place.offset + view > 0) IdOf({Kind::kView, place.argument, place.offset + view});
  }

  int64_t SymbolOf(const TensorPlace& place, const AddressExpression& address, int64_t view) {
    if (dialect_ != BundleDialect::kSymbolicArguments) {
      return IdOf({Kind::kConstant, 0, address.constant});
    }
    if (place.base != TensorPlace::Base::kArgument) return IdOf({Kind::kPool, 0, address.constant});
    if (address.constant != place.offset + view) {
      return IdOf({Kind::kCore, place.argument, address.constant});
    }
    return address.constant == 0 ? IdOf({Kind::kBase, place.argument, 0})
                                 : IdOf({Kind::kView, place.argument, address.constant});
  }

  // Of the tensors that share a symbol, the first that advances decides how it does.
  static void Bind(int64_t id, const AddressExpression& address, BundleExecute& execute) {
    const auto [entry, is_new] = execute.symbols.emplace(id, address);
    if (is_new) return;
    std::vector<int64_t>& strides = entry->second.loop_stride;
    if (AllFit(strides, [](int64_t s) { return s == 0; })) {
      strides = address.loop_stride;
    }
  }

  const KernelSource& source_;
  BundleDialect dialect_;
  Bundle bundle_;
  bool has_pool_ = false;        // a tensor in the pool, which has segment 0
  bool has_scratch_ = false;     // that, or scratch at an address of its own
  std::map<int, int> position_;  // argument index -> position in Bundle::arguments
  std::vector<int64_t> counts_;  // of the loops around, outermost first
  int64_t next_id_ = -1;
  std::map<Key, int64_t> ids_;  // of the operation at hand
};

}  // namespace

Bundle EmitBundle(const KernelSource& source, BundleDialect dialect) {
  return Emitter(source, dialect).Run();
}

}  // namespace spyre::compiler
