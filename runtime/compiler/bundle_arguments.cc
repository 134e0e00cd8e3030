// Who uses which bytes: the arguments of a bundle from its addresses, and how each is used.
// Accesses count as whole intervals, over all cores and all iterations of the loops around them.
#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "model/contract/error.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle.h"

namespace spyre::compiler {
namespace {

constexpr int kTensorSegments = 7;

struct Interval {
  int64_t begin = 0, end = 0;  // bytes
};

// A union of intervals.
class IntervalSet {
 public:
  void Add(Interval interval) {
    auto it = ends_.upper_bound(interval.begin);
    if (it != ends_.begin() && std::prev(it)->second >= interval.begin) --it;
    while (it != ends_.end() && it->first <= interval.end) {
      interval.begin = std::min(interval.begin, it->first);
      interval.end = std::max(interval.end, it->second);
      it = ends_.erase(it);
    }
    ends_[interval.begin] = interval.end;
  }
  bool Covers(const Interval& interval) const {
    auto it = ends_.upper_bound(interval.begin);
    return it != ends_.begin() && std::prev(it)->second >= interval.end;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // begin -> end
};

// One tensor in device memory, as one execute uses it.
struct Access {
  BundleExecute* execute;
  SuperDsc* dsc;
  SdscTensor* tensor;
  bool written;
  const std::vector<int64_t>* trips;  // of the loops around, outermost first
  const std::string* file;
};

void Walk(Bundle& bundle, std::vector<BundleNode>& body, std::vector<int64_t>& trips,
          const std::function<void(const Access&)>& visit) {
  for (BundleNode& node : body) {
    if (auto* loop = std::get_if<BundleLoop>(&node)) {
      trips.push_back(loop->count);
      Walk(bundle, loop->body, trips, visit);
      trips.pop_back();
      continue;
    }
    auto& execute = std::get<BundleExecute>(node);
    SuperDsc& dsc = bundle.dscs[static_cast<size_t>(execute.dsc)];
    const std::string& file = bundle.files[static_cast<size_t>(execute.dsc)];
    // What an operation reads, it reads before it writes.
    for (const bool written : {false, true}) {
      for (int t : written ? dsc.outputs : dsc.inputs) {
        SdscTensor& tensor = dsc.tensors[static_cast<size_t>(t)];
        if (!tensor.in_lx) visit({&execute, &dsc, &tensor, written, &trips, &file});
      }
    }
  }
}

void ForEachAccess(Bundle& bundle, const std::function<void(const Access&)>& visit) {
  std::vector<int64_t> trips;
  Walk(bundle, bundle.body, trips, visit);
}

const AddressExpression& Bound(const Access& access, int64_t symbol) {
  const auto it = access.execute->symbols.find(symbol);
  if (it != access.execute->symbols.end()) return it->second;
  throw BadInput("{}: {} uses symbol {}, which the bundle does not bind", *access.file,
                 access.tensor->name, symbol);
}

// Bytes that the cores reach, from the tensor's base or from address 0.
Interval Reach(const Access& access) {
  Interval all{INT64_MAX, INT64_MIN};
  const int64_t bytes = FootprintBytes(*access.dsc, *access.tensor);
  for (int64_t start : access.tensor->start) {
    const AddressExpression& bound = Bound(access, start);
    Interval one{bound.constant, bound.constant};
    for (size_t i = 0; i < bound.loop_stride.size(); ++i) {
      const int64_t last = bound.loop_stride[i] * ((*access.trips)[i] - 1);
      (last < 0 ? one.begin : one.end) += last;
    }
    all.begin = std::min(all.begin, one.begin);
    all.end = std::max(all.end, one.end + bytes);
  }
  return all;
}

int ArgumentOf(const Access& access) {
  return Bound(access, access.tensor->start.front()).argument;
}

int SegmentOf(const Access& access) {
  const Interval reach = Reach(access);
  const auto segment = [](int64_t address) { return address >> kSegmentBits; };
  const int64_t first = segment(reach.begin);
  if (reach.begin < 0 || first >= kTensorSegments || segment(reach.end - 1) != first) {
    throw BadInput(
        "{}: {} reaches from {:#x} to {:#x}; a tensor lies in one of the segments 0 to {}",
        *access.file, access.tensor->name, reach.begin, reach.end - 1, kTensorSegments - 1);
  }
  return static_cast<int>(first);
}

// Addresses in the files become symbols that every execute of the file binds to them.
void MakeSymbolic(Bundle& bundle) {
  std::vector<std::map<int64_t, AddressExpression>> added(bundle.dscs.size());
  int64_t symbol = 0;
  ForEachAccess(bundle, [&](const Access& access) {
    for (const auto& [id, bound] : access.execute->symbols) symbol = std::min(symbol, id);
  });
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    for (SdscTensor& tensor : bundle.dscs[i].tensors) {
      if (tensor.in_lx || tensor.symbolic) continue;
      for (int64_t& start : tensor.start) {
        added[i][--symbol] = {-1, start, {}};
        start = symbol;
      }
      tensor.symbolic = true;
    }
  }
  ForEachAccess(bundle, [&](const Access& access) {
    const auto& symbols = added[static_cast<size_t>(access.execute->dsc)];
    access.execute->symbols.insert(symbols.begin(), symbols.end());
  });
}

}  // namespace

void BindSegments(Bundle& bundle, std::optional<bool> pool_in_segment_0) {
  if (!bundle.arguments.empty()) return;
  MakeSymbolic(bundle);
  std::array<bool, kTensorSegments> used{};
  IntervalSet written;
  bool scratch = true;  // nothing of segment 0 is read before it is written
  bool read_0 = false;
  ForEachAccess(bundle, [&](const Access& access) {
    const int segment = SegmentOf(access);
    used[static_cast<size_t>(segment)] = true;
    if (segment != 0) return;
    const Interval reach = Reach(access);
    if (access.written) return written.Add(reach);
    read_0 = true;
    scratch = scratch && written.Covers(reach);
  });
  const bool pool = used[0] && pool_in_segment_0.value_or(scratch && read_0);
  std::array<int, kTensorSegments> argument{};
  for (int segment = 0; segment < kTensorSegments; ++segment) {
    if (!used[static_cast<size_t>(segment)]) continue;
    argument[static_cast<size_t>(segment)] = static_cast<int>(bundle.arguments.size());
    BundleArgument added;
    const bool is_pool = segment == 0 && pool;
    added.kind = is_pool ? BundleArgument::Kind::kPool : BundleArgument::Kind::kTensor;
    added.name = is_pool ? "pool" : fmt::format("arg_{}", segment - (pool ? 1 : 0));
    bundle.arguments.push_back(std::move(added));
  }
  ForEachAccess(bundle, [&](const Access& access) {
    for (int64_t symbol : access.tensor->start) {
      AddressExpression& bound = access.execute->symbols.at(symbol);
      if (bound.argument >= 0) continue;
      const int64_t segment = bound.constant >> kSegmentBits;
      bound.argument = argument[static_cast<size_t>(segment)];
      bound.constant -= segment << kSegmentBits;
    }
  });
}

std::vector<ArgumentUse> ArgumentUses(const Bundle& bundle) {
  std::vector<ArgumentUse> uses(bundle.arguments.size());
  std::vector<IntervalSet> written(bundle.arguments.size());
  Bundle copy = bundle;
  ForEachAccess(copy, [&](const Access& access) {
    const int argument = ArgumentOf(access);
    if (argument < 0) {
      throw BadInput("{}: {} is at an address that belongs to no argument", *access.file,
                     access.tensor->name);
    }
    const auto index = static_cast<size_t>(argument);
    const Interval reach = Reach(access);
    if (reach.begin < 0) {
      throw BadInput("{}: {} reaches {} bytes before '{}'", *access.file, access.tensor->name,
                     -reach.begin, bundle.arguments[index].name);
    }
    ArgumentUse& use = uses[index];
    use.bytes = std::max(use.bytes, static_cast<uint64_t>(reach.end));
    if (access.written) {
      use.written = true;
      written[index].Add(reach);
    } else {
      use.read = true;
      use.read_first = use.read_first || !written[index].Covers(reach);
    }
  });
  return uses;
}

}  // namespace spyre::compiler
