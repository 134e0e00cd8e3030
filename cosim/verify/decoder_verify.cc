// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/decoder_verify.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/verify/rounding_limits.h"
#include "model/contract/formats.h"

namespace spyre::cosim {
namespace {

class DecoderValues {
 public:
  DecoderValues(const std::vector<WorkloadTensor>& tensors, const std::vector<HostData>& inputs,
                bool linear_weights)
      : tensors_(tensors), inputs_(inputs), linear_weights_(linear_weights) {}

  size_t Place(const std::string& name) const {
    const auto found = FindIf(tensors_, [&](const auto& tensor) { return tensor.name == name; });
    if (found == tensors_.end()) throw InternalError("the model has no tensor '{}'", name);
    return static_cast<size_t>(found - tensors_.begin());
  }

  // The values as the card holds them; empty for what is not an input.
  DoubleTensor Of(const std::string& name) const {
    const WorkloadTensor& tensor = tensors_[Place(name)];
    if (!tensor.is_input) return {};
    const HostData& data = inputs_[Place(name)];
    DoubleTensor values(static_cast<size_t>(tensor.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto half =
          static_cast<uint16_t>(HostBits(tensor.host_format, data.data(), static_cast<int64_t>(i)));
      values[i] = DlfToFloat(DlfFromHalf(half));
    }
    return values;
  }

  // A matrix as [inputs, outputs].
  DoubleTensor Matrix(const std::string& name) const {
    DoubleTensor values = Of(name);
    if (!linear_weights_) return values;
    const std::vector<int64_t>& shape = tensors_[Place(name)].shape;
    const auto outputs = static_cast<size_t>(shape[0]), inputs = static_cast<size_t>(shape[1]);
    DoubleTensor turned(values.size());
    for (size_t o = 0; o < outputs; ++o)
      for (size_t i = 0; i < inputs; ++i) turned[i * outputs + o] = values[o * inputs + i];
    return turned;
  }

  DecoderLayer Layer(int64_t number) const {
    const auto of = [&](const char* name) { return Of(fmt::format("layers.{}.{}", number, name)); };
    const auto matrix = [&](const char* name) {
      return Matrix(fmt::format("layers.{}.{}", number, name));
    };
    DecoderLayer layer;
    layer.norm1 = of("norm1");
    layer.wq = matrix("wq");
    layer.wk = matrix("wk");
    layer.wv = matrix("wv");
    layer.wo = matrix("wo");
    layer.norm2 = of("norm2");
    layer.gate = matrix("gate");
    layer.up = matrix("up");
    layer.down = matrix("down");
    layer.keys = of("keys");
    layer.values = of("values");
    return layer;
  }

 private:
  const std::vector<WorkloadTensor>& tensors_;
  const std::vector<HostData>& inputs_;
  bool linear_weights_;
};

}  // namespace

void MeasureAgainstDecoder(const DecoderShape& shape, bool linear_weights,
                           const std::vector<WorkloadTensor>& tensors,
                           const std::vector<HostData>& inputs,
                           const std::vector<HostData>& outputs, Verification& result) {
  const DecoderValues values(tensors, inputs, linear_weights);
  DecoderInputs decoder;
  decoder.x = values.Of("x");
  for (int64_t i = 0; i < shape.layers; ++i) decoder.layers.push_back(values.Layer(i));
  if (shape.vocabulary > 0) {
    decoder.norm = values.Of("norm");
    decoder.head = values.Matrix("head");
  }
  const DoubleTensor ideal = EvaluateDecoder(shape, decoder);
  // Limits are not needed beside a tolerance that the user gave.
  const bool derive = result.tolerance == 0;
  const DoubleTensor rounded =
      derive ? EvaluateDecoder(shape, decoder, Rounding::kEveryResult) : DoubleTensor();
  const size_t y = values.Place("y");
  MeasureRounded(tensors[y], outputs[y], {}, ideal, derive ? rounded : ideal, result);
  result.reference +=
      fmt::format("; error against a decoder in float64 over {} elements", result.error_elements);
}

}  // namespace spyre::cosim
