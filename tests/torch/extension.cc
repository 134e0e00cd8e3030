// SPDX-License-Identifier: Apache-2.0
// An extension of PyTorch on libflex.so, as torch-spyre is one: tensors go to the card as images of
// sticks, a bundle that dxp_standalone has compiled runs on them, and they come back.
#include <spyrecode-host-functions/processSpyreCodeArtifacts.h>
#include <torch/extension.h>

#include <cstdint>
#include <flex/flex.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

flex::RuntimeStream& Stream() { return *flex::getFlexRuntimeContext()->getDefaultStream(); }

flex::CompositeAddress Allocate(size_t bytes, flex::MemoryType type) {
  return flex::getFlexRuntimeContext()->getAllocator()->allocate(
      bytes, flex::AllocationDirective(flex::PlacementPolicy::Bind, {0}, std::nullopt, type));
}

void Copy(void* host, const flex::CompositeAddress& device, bool to_device,
          std::shared_ptr<data_conversion_info> conversion = nullptr) {
  flex::DmaParams* const params =
      flex::createDmaParams(host, device.total_size(), to_device, &device, std::move(conversion));
  const std::unique_ptr<flex::DmaParams, void (*)(flex::DmaParams*)> owner(params,
                                                                           flex::destroyDmaParams);
  if (to_device) {
    Stream().launchOperationH2D(params);
  } else {
    Stream().launchOperationD2H(params);
  }
}

// A tensor [rows, columns] of float16 on the card, columns a multiple of 64: columns of sticks.
class CardTensor {
 public:
  CardTensor(int64_t rows, int64_t columns)
      : rows_(rows),
        columns_(columns),
        memory_(Allocate(static_cast<size_t>(2 * rows * columns), flex::MemoryType::Tensor)) {}

  void Write(const torch::Tensor& tensor) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.scalar_type() == torch::kHalf);
    Copy(tensor.data_ptr(), memory_, true, Conversion(true));
  }
  torch::Tensor Read() const {
    torch::Tensor tensor = torch::empty({rows_, columns_}, torch::kHalf);
    Copy(tensor.data_ptr(), memory_, false, Conversion(false));
    Stream().synchronize();
    return tensor;
  }
  int64_t Address() const {
    return static_cast<int64_t>(
        flex::getFlexRuntimeContext()->getAllocator()->compositeAddressToDmva(memory_));
  }

 private:
  std::shared_ptr<data_conversion_info> Conversion(bool to_device) const {
    auto info = std::make_shared<data_conversion_info>();
    info->isHostToSen_ = to_device;
    info->dataformat_src_ = to_device ? DataFormats::IEEE_FP16 : DataFormats::SEN169_FP16;
    info->dataformat_dst_ = to_device ? DataFormats::SEN169_FP16 : DataFormats::IEEE_FP16;
    data_conversion_stride_info box;
    box.size_ = {64, rows_, columns_ / 64};
    box.stride_src_ = {1, columns_, 64};
    box.stride_dst_ = {1, 64, 64 * rows_};
    if (!to_device) std::swap(box.stride_src_, box.stride_dst_);
    info->dcsi_ = {box};
    return info;
  }

  int64_t rows_, columns_;
  flex::CompositeAddress memory_;
};

// The program of a bundle: `binary` is put on the card, `hcm` says how it is told its tensors.
class CardKernel {
 public:
  CardKernel(const std::string& binary, size_t bytes, const std::string& hcm, size_t input_bytes)
      : memory_(Allocate(bytes, flex::MemoryType::Program)), input_(input_bytes) {
    hcm_.importJsonStr(hcm);
    Copy(const_cast<char*>(binary.data()), Part(0, binary.size()), true);
    Stream().synchronize();
  }
  // input: where the correction input goes; computes: offsets of the binaries, in order.
  void Launch(const std::vector<CardTensor*>& tensors, uint64_t input,
              const std::vector<uint64_t>& computes, const std::string& name) {
    std::vector<int64_t> addresses;
    for (const CardTensor* tensor : tensors) addresses.push_back(tensor->Address());
    deeptools::processComputeOnHostCommand(hcm_, input_.data(), &addresses);
    Copy(input_.data(), Part(input, input_.size()), true);
    for (const uint64_t offset : computes) {
      flex::ComputeParams* const params = flex::createComputeParams(&memory_, {}, name, offset);
      const std::unique_ptr<flex::ComputeParams, void (*)(flex::ComputeParams*)> owner(
          params, flex::destroyComputeParams);
      Stream().launchOperationCompute(params);
    }
  }

 private:
  flex::CompositeAddress Part(uint64_t offset, size_t bytes) const {
    const flex::Chunk& whole = memory_.chunks().front();
    return flex::CompositeAddress(
        flex::Chunk({whole.addr.region_id, whole.addr.offset + offset}, bytes, whole.domain_id));
  }

  flex::CompositeAddress memory_;
  std::vector<char> input_;
  Hcm hcm_;
};

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  pybind11::class_<CardTensor>(module, "CardTensor")
      .def(pybind11::init<int64_t, int64_t>())
      .def("write", &CardTensor::Write)
      .def("read", &CardTensor::Read);
  pybind11::class_<CardKernel>(module, "CardKernel")
      .def(pybind11::init(
          [](const pybind11::bytes& binary, size_t bytes, const std::string& hcm,
             size_t input_bytes) { return new CardKernel(binary, bytes, hcm, input_bytes); }))
      .def("launch", &CardKernel::Launch);
  module.def("synchronize", [] { Stream().synchronize(); });
}
