// SPDX-License-Identifier: Apache-2.0
// The module that knows MLIR, opened when the first bundle.mlir is read.
#include <modules/spyre_bundle_mlir.h>

#include "base/module.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

Bundle ParseBundleMlir(const std::string& text, const std::string& file) {
  using Parse = void (*)(const std::string& text, const std::string& file, Bundle& bundle);
  static const auto parse =
      reinterpret_cast<Parse>(ModuleSymbol(kBundleMlirModule, SPYRE_BUNDLE_MLIR_SYMBOL));
  Bundle bundle;
  parse(text, file, bundle);
  return bundle;
}

}  // namespace spyre::compiler
