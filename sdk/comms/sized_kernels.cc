// SPDX-License-Identifier: Apache-2.0
#include "sdk/comms/sized_kernels.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "model/contract/stick_layout.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/spyre/launch_kernel.h"

namespace spyre::sdk {
namespace {

constexpr int64_t kStickElements = 64;  // of SEN169_FP16

// A directory for a moment.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "spyre-comms-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw BadInput("cannot make a directory as {}", name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<int64_t> RowsOf(uint64_t bytes) {
  return {static_cast<int64_t>(bytes / kStickBytes), kStickElements};
}

}  // namespace

const runtime::KernelSet& SizedKernels::KernelOf(uint64_t bytes) {
  const auto found = kernels_.find(bytes);
  if (found != kernels_.end()) return found->second;
  compiler::KernelSpec spec;
  spec.op = operation_;
  spec.dims = {{"rows", RowsOf(bytes).front()}, {"cols", kStickElements}};
  spec.cores = static_cast<int>(context_.identity().cores);
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / (operation_ + std::to_string(bytes));
  compiler::WriteSpyreCode(compiler::GenerateKernel(spec), path);
  runtime::KernelSet& kernel = kernels_.emplace(bytes, runtime::KernelSet(path)).first->second;
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context_);
  runtime::LoadKernels(stream, kernel);
  stream.Synchronize();
  return kernel;
}

void SizedKernels::Launch(const std::vector<flex::DeviceHandle>& places, uint64_t bytes) {
  const runtime::KernelSet& kernel = KernelOf(bytes);
  const StickLayout layout = DefaultLayout(RowsOf(bytes), DataFormat::kSen169Fp16);
  std::vector<runtime::SpyreTensor> tensors;
  tensors.reserve(places.size());
  for (const flex::DeviceHandle& place : places)
    tensors.push_back(runtime::TensorAt(place, layout));
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context_);
  runtime::LaunchKernel(stream, kernel, tensors);
}

}  // namespace spyre::sdk
