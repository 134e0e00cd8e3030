// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/decoder_tables.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr double kBase = 10000;     // of the rotary embedding
constexpr double kHidden = -60000;  // within float16

template <typename Function>
std::shared_ptr<const HostData> Filled(int64_t rows, int64_t columns, Function value) {
  HostData data(static_cast<size_t>(2 * rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      StoreHost(DataFormat::kIeeeFp16, value(r, c), data.data(), r * columns + c);
  return std::make_shared<const HostData>(std::move(data));
}

}  // namespace

double DecoderTables::Angle(int64_t token, int64_t element) const {
  const int64_t half = sizes_.head_size / 2;
  const auto position = static_cast<double>(sizes_.context - sizes_.sequence + token);
  const double exponent = static_cast<double>(element % half) / static_cast<double>(half);
  return position * std::pow(kBase, -exponent);
}

std::shared_ptr<const HostData> DecoderTables::Data(const std::string& name) const {
  const int64_t tokens = sizes_.sequence, size = sizes_.head_size, half = size / 2;
  if (name == "cos")
    return Filled(tokens, size, [&](int64_t s, int64_t i) { return std::cos(Angle(s, i)); });
  if (name == "sin")
    return Filled(tokens, size, [&](int64_t s, int64_t i) { return std::sin(Angle(s, i)); });
  if (name == "rotation") {
    return Filled(size, size, [&](int64_t from, int64_t to) {
      if (to < half) return from == to + half ? -1.0 : 0.0;
      return from == to - half ? 1.0 : 0.0;
    });
  }
  if (name != "mask") throw InternalError("a decoder stack has no table '{}'", name);
  const int64_t past = sizes_.context - tokens;
  return Filled(tokens, sizes_.cache_rows(),
                [&](int64_t s, int64_t t) { return t <= past + s ? 0.0 : kHidden; });
}

}  // namespace spyre::cosim
