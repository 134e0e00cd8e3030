// SPDX-License-Identifier: Apache-2.0
// Every core finds every element where the front end's coordinates put it: random tensors, orders,
// views, splits and formats against the way in which SDSC files are executed
// (docs/kernel-forms.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/unit/random_cases.h"
#include "tests/unit/runtime/compiler/bundle/emit_source.h"

namespace spyre::compiler::bundle_address_test {
namespace {

// A random tensor: the last symbol is in the stick or missing, the others are in any order and may
// be missing, each in a part of a larger dimension.
struct Shape {
  std::vector<IterationSymbol> space;
  std::vector<TensorArg> args;
};

std::string Plus(const std::string& text, int64_t offset) {
  return offset == 0 ? text : text + " + " + std::to_string(offset);
}

TensorArg RandomTensor(std::mt19937& random, int index, const std::vector<IterationSymbol>& space,
                       bool whole, int stick_symbol, DataFormat format) {
  const int64_t stick = ElementsPerStick(format);
  std::vector<int64_t> size;
  std::vector<std::string> coordinates;
  std::vector<int> order(space.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (int s : order) {
    const IterationSymbol& symbol = space[static_cast<size_t>(s)];
    const bool in_stick = s + 1 == static_cast<int>(space.size());
    const bool present = in_stick ? s == stick_symbol : whole || random() % 4 > 0;
    if (!present) continue;
    const int64_t before = whole ? 0 : test::Draw(random, 0, 2);
    const int64_t behind = whole ? 0 : test::Draw(random, 0, 2);
    if (s == stick_symbol) {
      const int64_t sticks = (symbol.range + stick - 1) / stick;
      size.push_back(before + sticks + behind);
      coordinates.push_back(
          Plus("floor(" + symbol.name + "/" + std::to_string(stick) + ")", before));
    } else {
      size.push_back(before + symbol.range + behind);
      coordinates.push_back(Plus(symbol.name, before));
    }
  }
  if (size.empty()) {
    size.push_back(1);
    coordinates.emplace_back("0");
  }
  size.push_back(stick);
  coordinates.push_back(stick_symbol < 0 ? "0"
                                         : "Mod(" + space[static_cast<size_t>(stick_symbol)].name +
                                               ", " + std::to_string(stick) + ")");
  return MakeArg(index, size, coordinates, format);
}

Shape RandomShape(std::mt19937& random) {
  const DataFormat format = test::DrawOf(random, {DataFormat::kSen169Fp16, DataFormat::kIeeeFp32});
  const int64_t stick = ElementsPerStick(format);
  Shape shape;
  const int dims = test::Draw(random, 1, 3);
  for (int i = 0; i + 1 < dims; ++i) {
    const int split = test::Draw(random, 1, 3);
    shape.space.push_back(
        {"c" + std::to_string(i), split * test::Draw<int64_t>(random, 1, 4), split});
  }
  const int split = test::Draw(random, 1, 3);
  const int64_t ragged = split == 1 ? test::Draw<int64_t>(random, 0, stick - 1) : 0;
  shape.space.push_back({"c" + std::to_string(dims - 1),
                         split * stick * test::Draw<int64_t>(random, 1, 3) - ragged, split});
  const int last = dims - 1;
  shape.args.push_back(RandomTensor(random, 0, shape.space, false, last, format));
  shape.args.push_back(
      RandomTensor(random, 1, shape.space, false, test::DrawOf(random, {-1, last}), format));
  shape.args.push_back(RandomTensor(random, 2, shape.space, true, last, format));
  return shape;
}

// Where the tensor's own coordinates put the element that the symbols name.
int64_t ExpectedAddress(const TensorArg& arg, const std::map<std::string, int64_t>& values) {
  int64_t elements = 0;
  for (size_t d = 0; d < arg.device_size.size(); ++d) {
    const int64_t at = Evaluate(arg.device_coordinates[d], values);
    EXPECT_TRUE(at >= 0 && at < arg.device_size[d]) << at;
    elements = elements * arg.device_size[d] + at;
  }
  return arg.address + elements * (128 / ElementsPerStick(arg.device_format));
}

// Where a core finds the element at its own indices (facts of the SDSC format, in device memory).
int64_t CoreAddress(const SuperDsc& dsc, const SdscTensor& tensor, size_t core,
                    const std::vector<int64_t>& local) {
  int64_t elements = 0;
  int64_t stride = tensor.stick_sizes.at(0);
  const int64_t stick_size = stride;
  const int stick = tensor.stick_dims.at(0);
  for (size_t k = 0; k < tensor.dim_order.size(); ++k) {
    const int dim = tensor.dim_order[k];
    if (tensor.scale[k] < 0) continue;
    const auto gap = tensor.back_gap.find(dim);
    const int64_t extent = dsc.dims.at(static_cast<size_t>(dim)).size +
                           (gap == tensor.back_gap.end() ? 0 : gap->second);
    const int64_t index = local.at(static_cast<size_t>(dim));
    if (dim == stick) {
      elements += index / stick_size * stride + index % stick_size;
      stride *= (extent + stick_size - 1) / stick_size;
    } else {
      elements += index * stride;
      stride *= extent;
    }
  }
  return tensor.start.at(core) + elements * tensor.word_bytes;
}

// A corner or a random place of what one core walks.
std::vector<int64_t> RandomIndex(std::mt19937& random, const SuperDsc& dsc) {
  std::vector<int64_t> index;
  for (const SdscDim& dim : dsc.dims) {
    index.push_back(test::DrawBool(random) ? test::DrawOf<int64_t>(random, {0, dim.per_core - 1})
                                           : test::Draw<int64_t>(random, 0, dim.per_core - 1));
  }
  return index;
}

TEST(BundleAddresses, AreWhereTheCoordinatesSay) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Shape shape = RandomShape(random);
    const OpSpec op = MakeOp("add", shape.space, shape.args);
    const SuperDsc dsc = Emit(op);
    for (size_t core = 0; core < dsc.cores.size(); ++core) {
      for (int sample = 0; sample < 8; ++sample) {
        const std::vector<int64_t> local = RandomIndex(random, dsc);
        std::map<std::string, int64_t> values;
        bool padding = false;
        for (size_t i = 0; i < op.iteration_space.size(); ++i) {
          const int64_t global = local[i] + dsc.slice[core][i] * dsc.dims[i].per_core;
          values[op.iteration_space[i].name] = global;
          padding = padding || global >= op.iteration_space[i].range;
        }
        if (padding) continue;
        for (size_t i = 0; i < op.args.size(); ++i) {
          ASSERT_EQ(CoreAddress(dsc, dsc.tensors[i], core, local),
                    ExpectedAddress(op.args[i], values));
        }
      }
    }
  });
}

}  // namespace
}  // namespace spyre::compiler::bundle_address_test
