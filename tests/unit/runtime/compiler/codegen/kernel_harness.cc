// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/compiler/codegen/kernel_harness.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tests/unit/runtime/compiler/instruction_values.h"

namespace spyre::compiler::harness {

int64_t Elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Shape IndexOf(int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) index[d] = flat % shape[d];
  return index;
}

uint64_t PlacedTensor::ByteOf(const Shape& index) const {
  uint64_t at = base;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t i = origin[d] + index[d];
    const int dim = static_cast<int>(d);
    if (dim == layout.stick_dim()) {
      at += i / 64 * layout.DeviceByteStride(dim) + i % 64 * 2;
    } else {
      at += i * layout.DeviceByteStride(dim);
    }
  }
  return at;
}

Values RandomValues(const Shape& shape, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  Values values(Elements(shape));
  for (uint16_t& code : values) code = DlfFromFloat(value(random));
  return values;
}

Values RunKernel(const Kernel& kernel, const std::vector<Values>& inputs, uint32_t seed,
                 std::vector<PlacedTensor> places) {
  const auto& arguments = kernel.arguments;
  if (places.empty()) {
    for (const KernelArgument& a : arguments)
      places.push_back({a.layout, Shape(a.shape.size(), 0)});
  }
  Memory memory;
  Program program = Decode(Encode(kernel.compute).data(), Encode(kernel.compute).size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    PlacedTensor& place = places[i];
    place.base = SegmentAddress(static_cast<unsigned>(i), 4096 * (i + 1));
    const int64_t bytes = place.layout.DeviceBytes();
    memory.Add(place.base, bytes);
    std::memset(memory.At(place.base, bytes), 0x7F, bytes);
    const Shape& shape = arguments[i].shape;
    program.address_table[8 * i] = place.ByteOf(Shape(shape.size(), 0));
    for (size_t d = 0; d < shape.size(); ++d) {
      program.address_table[8 * i + 1 + d] = place.layout.DeviceByteStride(static_cast<int>(d));
    }
    if (arguments[i].is_output) continue;
    for (int64_t e = 0; e < Elements(shape); ++e) {
      std::memcpy(memory.At(place.ByteOf(IndexOf(e, shape)), 2), &inputs[i][e], 2);
    }
  }
  Interpreter(program, memory, seed).Run();
  const PlacedTensor& place = places.back();
  const Shape& shape = arguments.back().shape;
  const int64_t bytes = place.layout.DeviceBytes();
  uint8_t* const image = memory.At(place.base, bytes);
  std::vector<bool> ours(bytes / kStickBytes, false);
  Values out(Elements(shape));
  for (int64_t e = 0; e < Elements(shape); ++e) {
    const uint64_t at = place.ByteOf(IndexOf(e, shape)) - place.base;
    std::memcpy(&out[e], image + at, 2);
    ours[at / kStickBytes] = true;
  }
  for (int64_t i = 0; i < bytes; ++i) {
    if (!ours[i / kStickBytes] && image[i] != 0x7F)
      Fail("byte {} beside the output was written", i);
  }
  return out;
}

namespace {

float Round(float value) { return DlfToFloat(DlfFromFloat(value)); }

}  // namespace

Values Expected(const KernelSpec& spec, const Kernel& kernel, const std::vector<Values>& in) {
  const Operation& op = RequireOperation(spec.op);
  const auto dim = [&](const char* name) {
    const auto it = spec.dims.find(name);
    return it == spec.dims.end() ? int64_t{1} : it->second;
  };
  const Shape& out_shape = kernel.arguments.back().shape;
  Values out(Elements(out_shape));
  const auto at = [](const Values& values, int64_t i) { return DlfToFloat(values[i]); };
  switch (op.kind) {
    case OperationKind::kMatmul: {
      const int64_t m = dim("m"), k = dim("k"), n = dim("n");
      const int slices = kernel.plan.split.at("k");
      for (int64_t e = 0; e < static_cast<int64_t>(out.size()); ++e) {
        const int64_t row = e / n, column = e % n, batch = e / n / m;
        out[e] = DlfFromFloat(FoldSliced(ReduceFn::kSum, k, 64, slices, [&](int64_t kk) {
          return at(in[0], row * k + kk) * at(in[1], (batch * k + kk) * n + column);
        }));
      }
      return out;
    }
    case OperationKind::kUnary:
      for (size_t e = 0; e < out.size(); ++e) {
        out[e] = DlfFromDouble(UnaryValue(static_cast<UnaryFn>(op.fn), at(in[0], e)));
      }
      return out;
    case OperationKind::kBinary:
      for (size_t e = 0; e < out.size(); ++e) {
        out[e] =
            DlfFromFloat(BinaryValue(static_cast<BinaryFn>(op.fn), at(in[0], e), at(in[1], e)));
      }
      return out;
    case OperationKind::kReduction: {
      const KernelArgument& a = kernel.arguments[0];
      size_t axis = 0;
      while (a.dims[axis] != spec.axis) ++axis;
      int64_t inner = 1;
      for (size_t d = axis + 1; d < a.shape.size(); ++d) inner *= a.shape[d];
      const int64_t size = a.shape[axis];
      const bool stick = a.layout.stick_dim() == static_cast<int>(axis);
      for (int64_t e = 0; e < static_cast<int64_t>(out.size()); ++e) {
        const int64_t start = e / inner * inner * size + e % inner;
        float value = FoldSliced(static_cast<ReduceFn>(op.fn), size, stick ? 64 : 1,
                                 kernel.plan.split.at(spec.axis),
                                 [&](int64_t i) { return at(in[0], start + i * inner); });
        if (op.is_mean() && size > 1) value = value / static_cast<float>(size);
        out[e] = DlfFromFloat(value);
      }
      return out;
    }
    case OperationKind::kSoftmax: {
      const int64_t cols = dim("cols");
      for (int64_t row = 0; row < static_cast<int64_t>(out.size()) / cols; ++row) {
        const auto x = [&](int64_t i) { return at(in[0], row * cols + i); };
        const float most = Round(FoldSliced(ReduceFn::kMax, cols, cols, 1, x));
        std::vector<float> e(cols);
        for (int64_t i = 0; i < cols; ++i) {
          e[i] = DlfToFloat(DlfFromDouble(std::exp(static_cast<double>(Round(x(i) - most)))));
        }
        const float sum =
            Round(FoldSliced(ReduceFn::kSum, cols, cols, 1, [&](int64_t i) { return e[i]; }));
        const float inverse = DlfToFloat(DlfFromDouble(1 / static_cast<double>(sum)));
        for (int64_t i = 0; i < cols; ++i) out[row * cols + i] = DlfFromFloat(e[i] * inverse);
      }
      return out;
    }
  }
  return out;
}

void CheckKernel(const KernelSpec& given, uint32_t seed) {
  KernelSpec spec = given;
  spec.schedule = seed / 2 % 2 == 0 ? Schedule::kOwn : Schedule::kPublic;
  std::string what = spec.op + " axis " + spec.axis + " lx " + std::to_string(spec.lx_bytes);
  for (const auto& [name, size] : spec.dims) what += fmt::format(" {}={}", name, size);
  for (const auto& [name, count] : spec.split) what += fmt::format(" split.{}={}", name, count);
  SCOPED_TRACE(what + fmt::format(" cores {} seed {}", spec.cores, seed));
  try {
    const Kernel kernel = GenerateKernel(spec);
    ASSERT_LE(kernel.plan.lx_bytes_used, spec.lx_bytes);
    std::mt19937 random(seed);
    std::vector<Values> inputs;
    for (const KernelArgument& argument : kernel.arguments) {
      if (!argument.is_output) inputs.push_back(RandomValues(argument.shape, random));
    }
    const Values out = RunKernel(kernel, inputs, seed);
    const Values expected = Expected(spec, kernel, inputs);
    for (size_t e = 0; e < out.size(); ++e) {
      ASSERT_EQ(out[e], expected[e]) << "element " << e << " of " << out.size() << ": "
                                     << DlfToFloat(out[e]) << " for " << DlfToFloat(expected[e]);
    }
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

}  // namespace spyre::compiler::harness
