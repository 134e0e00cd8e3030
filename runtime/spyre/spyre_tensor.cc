// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_tensor.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/joined.h"

namespace spyre::runtime {

DeviceStorage::DeviceStorage(flex::RuntimeContext& context, uint64_t size_bytes,
                             flex::MemoryKind kind, uint32_t first_region)
    : context_(context.lifeline()),
      handle_(context.Allocate(size_bytes, kind, first_region)),
      size_bytes_(size_bytes) {}

DeviceStorage::~DeviceStorage() {
  flex::RuntimeContext* context = context_->load();
  if (context == nullptr) return;
  try {
    context->Free(handle_);
  } catch (const Error&) {
    // The card is gone: there is no mapping left to undo.
  }
}

std::vector<int64_t> ByteStrides(const StickLayout& layout) {
  std::vector<int64_t> strides;
  strides.reserve(layout.host_size.size());
  for (int d = 0; d < static_cast<int>(layout.host_size.size()); ++d) {
    strides.push_back(d == layout.stick_dim() ? BitsPerElement(layout.format) / 8
                                              : layout.DeviceByteStride(d));
  }
  return strides;
}

SpyreTensor TensorAt(const DeviceHandle& handle, const StickLayout& layout) {
  SpyreTensor tensor;
  tensor.shape = layout.host_size;
  tensor.stride = ByteStrides(layout);
  tensor.data_type = layout.format;
  tensor.device_handle = handle;
  tensor.size_bytes = static_cast<uint64_t>(layout.DeviceBytes());
  tensor.layout = layout;
  return tensor;
}

SpyreTensor AllocateTensor(flex::RuntimeContext& context, const StickLayout& layout) {
  auto storage = std::make_shared<const DeviceStorage>(
      context, static_cast<uint64_t>(layout.DeviceBytes()), flex::MemoryKind::kTensor);
  SpyreTensor tensor = TensorAt(storage->handle(), layout);
  tensor.storage = std::move(storage);
  return tensor;
}

SpyreTensor AllocateTensor(flex::RuntimeContext& context, const std::vector<int64_t>& shape,
                           DataFormat device_format) {
  return AllocateTensor(context, DefaultLayout(shape, device_format));
}

namespace {

// The device dimension of ChunkedDimension; the last, which is inside a stick, if there is none.
size_t ChunkedDeviceDimension(const StickLayout& layout) {
  size_t d = 0;
  while (d + 1 < layout.device_size.size() && layout.device_size[d] == 1) ++d;
  return d;
}

// Elements of the host dimension in one step of the device dimension.
int64_t ElementsPerStep(const StickLayout& layout) {
  return ChunkedDimension(layout) == layout.stick_dim() ? ElementsPerStick(layout.format) : 1;
}

// Bytes of one step: what is inside of it.
int64_t BytesPerStep(const StickLayout& layout) {
  return layout.DeviceBytes() / layout.device_size[ChunkedDeviceDimension(layout)];
}

}  // namespace

int ChunkedDimension(const StickLayout& layout) {
  const size_t d = ChunkedDeviceDimension(layout);
  return d + 1 < layout.device_size.size() ? layout.host_dim[d] : -1;
}

int64_t ChunkElements(const SpyreTensor& tensor) {
  return static_cast<int64_t>(tensor.chunks.at(0).size_bytes) / BytesPerStep(tensor.layout) *
         ElementsPerStep(tensor.layout);
}

SpyreTensor AllocateTensorInterleaved(flex::RuntimeContext& context, const StickLayout& layout,
                                      int chunks, int64_t granularity) {
  if (chunks == 1) return AllocateTensor(context, layout);
  const int dimension = ChunkedDimension(layout);
  const int64_t per_step = ElementsPerStep(layout);
  const int64_t size = dimension < 0 ? 1 : layout.host_size[static_cast<size_t>(dimension)];
  if (granularity < 1 || (granularity % per_step != 0 && granularity != 1)) {
    throw BadInput(
        "tensor [{}]: chunks of multiples of {} elements along dimension {}; a multiple "
        "of {} would fit",
        Joined(layout.host_size, ", "), granularity, dimension, per_step);
  }
  const int64_t unit = std::max(granularity, per_step);
  const int64_t units = (size + unit - 1) / unit;
  if (chunks < 1 || dimension < 0 || chunks > units) {
    throw BadInput(
        "tensor [{}] in {} chunks: along dimension {}, {} elements in units of {} make 1 "
        "to {}",
        Joined(layout.host_size, ", "), chunks, dimension, size, unit, units);
  }
  const int64_t units_per_chunk = (units + chunks - 1) / chunks;
  if ((units + units_per_chunk - 1) / units_per_chunk != chunks) {
    throw BadInput(
        "tensor [{}] in {} chunks: along dimension {}, {} units of {} elements make {} "
        "chunks of {} units; use {} chunks",
        Joined(layout.host_size, ", "), chunks, dimension, units, unit,
        (units + units_per_chunk - 1) / units_per_chunk, units_per_chunk,
        (units + units_per_chunk - 1) / units_per_chunk);
  }
  const auto image = static_cast<uint64_t>(layout.DeviceBytes());
  const auto length =
      static_cast<uint64_t>(units_per_chunk * (unit / per_step) * BytesPerStep(layout));
  auto storages = std::make_shared<std::vector<std::shared_ptr<const DeviceStorage>>>();
  std::vector<TensorChunk> pieces;
  for (uint64_t offset = 0; offset < image; offset += length) {
    const uint64_t bytes = std::min(length, image - offset);
    storages->push_back(std::make_shared<const DeviceStorage>(
        context, bytes, flex::MemoryKind::kTensor, static_cast<uint32_t>(pieces.size())));
    pieces.push_back({storages->back()->handle(), offset, bytes});
  }
  SpyreTensor tensor = TensorAt(pieces.front().handle, layout);
  tensor.storage = std::move(storages);
  tensor.chunks = std::move(pieces);
  return tensor;
}

std::vector<TensorChunk> PiecesOf(const SpyreTensor& tensor) {
  if (!tensor.chunks.empty()) return tensor.chunks;
  return {{tensor.device_handle, 0, tensor.size_bytes}};
}

void CheckTensorMemory(const flex::RuntimeContext& context, const std::string& what,
                       const SpyreTensor& tensor) {
  const auto image = static_cast<uint64_t>(tensor.layout.DeviceBytes());
  if (tensor.chunks.empty()) return context.CheckMemory(what, tensor.device_handle, image);
  uint64_t end = 0;
  for (const TensorChunk& chunk : tensor.chunks) {
    context.CheckMemory(what, chunk.handle, chunk.size_bytes);
    if (chunk.offset != end) {
      throw BadInput("{}: the chunk at byte {} of the tensor's image follows one that ends at {}",
                     what, chunk.offset, end);
    }
    end += chunk.size_bytes;
  }
  if (end < image) {
    throw BadInput("{}: its chunks have {} bytes, and its image {}", what, end, image);
  }
}

DeviceHandle LocationOf(const SpyreTensor& tensor, int64_t offset) {
  if (tensor.chunks.empty()) return flex::Offset(tensor.device_handle, offset);
  const auto length = static_cast<int64_t>(tensor.chunks.front().size_bytes);
  const TensorChunk& chunk = tensor.chunks.at(static_cast<size_t>(offset / length));
  return flex::Offset(chunk.handle, offset - static_cast<int64_t>(chunk.offset));
}

std::string ToString(const SpyreTensor& tensor) {
  return fmt::format("tensor [{}] {} at {}", Joined(tensor.shape, ", "),
                     FormatName(tensor.data_type), flex::ToString(tensor.device_handle));
}

}  // namespace spyre::runtime
