#include "runtime/spyre/spyre_tensor.h"

#include <fmt/ranges.h>

#include "model/contract/error.h"

namespace spyre::runtime {

DeviceStorage::DeviceStorage(flex::RuntimeContext& context, uint64_t size_bytes,
                             flex::MemoryKind kind)
    : context_(context), handle_(context.Allocate(size_bytes, kind)), size_bytes_(size_bytes) {}

DeviceStorage::~DeviceStorage() {
  try {
    context_.Free(handle_);
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

std::string ToString(const SpyreTensor& tensor) {
  return fmt::format("tensor [{}] {} at {}", fmt::join(tensor.shape, ", "),
                     FormatName(tensor.data_type), flex::ToString(tensor.device_handle));
}

}  // namespace spyre::runtime
