// SPDX-License-Identifier: Apache-2.0
#include "sdk/dxp/compile.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "model/contract/memory_map.h"
#include "model/contract/stick_layout.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/codegen/bundle_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "sdk/kept/kept_bundle.h"

namespace spyre::sdk {
namespace {

namespace fs = std::filesystem;
using compiler::Bundle;
using compiler::BundleArgument;

// Rows of sticks over all that the bundle reaches of an argument, `bytes`. Its elements have the
// size of any format: code generation asks for bytes alone.
compiler::KernelArgument ImageOf(const BundleArgument& argument, const compiler::ArgumentUse& use,
                                 uint64_t bytes) {
  const auto sticks =
      static_cast<int64_t>(std::max(kStickBytes, AlignUp(bytes, kStickBytes)) / kStickBytes);
  compiler::KernelArgument image;
  image.name = argument.name;
  image.is_output = use.written;
  image.shape = {sticks, ElementsPerStick(DataFormat::kSen169Fp16)};
  image.dims = {argument.name + ".stick", argument.name + ".lane"};
  image.layout = DefaultLayout(image.shape, DataFormat::kSen169Fp16);
  return image;
}

// The operations, each once, in order. A program is not named by its directory, which PyTorch names
// anew in every run: equal runs are to leave equal traces.
std::string OperationsOf(const Bundle& bundle) {
  std::string name;
  std::set<std::string> named;
  for (const compiler::SuperDsc& dsc : bundle.dscs) {
    if (named.insert(dsc.op).second) name += (name.empty() ? "" : "_") + dsc.op;
  }
  return name;
}

}  // namespace

void CompileBundleDirectory(const fs::path& directory) {
  if (!fs::is_directory(directory))
    throw BadInput("{}: there is no such directory", directory.string());
  Bundle bundle = compiler::ReadBundle(directory);
  const std::vector<compiler::ArgumentUse> uses = compiler::BindSegments(bundle);
  // How long these are, the launch knows. What lies outside of the memory of the program faults.
  const std::set<int> chosen = compiler::ChosenFrom(bundle);
  std::vector<compiler::KernelArgument> arguments;
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    const BundleArgument& argument = bundle.arguments[i];
    if (argument.kind == BundleArgument::Kind::kDimension) {
      throw BadInput("{}: dimension '{}' is given at launch, which this interface does not know",
                     bundle.name, argument.name);
    }
    if (argument.kind == BundleArgument::Kind::kTensor)
      arguments.push_back(
          ImageOf(argument, uses[i],
                  chosen.count(static_cast<int>(i)) == 0 ? uses[i].bytes : kSegmentBytes));
  }
  bundle.name = OperationsOf(bundle);
  const compiler::Kernel kernel = compiler::GenerateBundleKernel(bundle, arguments, {});
  compiler::WriteSpyreCode(kernel, directory / "spyreCodeDir", compiler::HcmForm::kInline);
  const char* const keep = std::getenv(kKeepVariable);
  const char* const out = std::getenv(kOutVariable);
  if (keep == nullptr || *keep == '\0' || out == nullptr || *out == '\0') return;
  const std::string binary =
      ReadFile((directory / "spyreCodeDir/init_binary.bin").string(), "program", UINT32_MAX);
  KeepBundle(directory, out,
             ProgramDigest(reinterpret_cast<const uint8_t*>(binary.data()), binary.size()));
}

}  // namespace spyre::sdk
