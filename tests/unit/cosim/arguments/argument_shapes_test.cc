// SPDX-License-Identifier: Apache-2.0
// What is asked of the kernel arguments of OpSpec source.
#include "cosim/arguments/argument_shapes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::cosim::argument_shapes_test {
namespace {

using testing::HasSubstr;

// z = exp(a) in loops of 2 and 4 over tiles of 512 x 1024, as the example of the coarse-tiling
// document; `size` and `more` of the output.
compiler::KernelSource Tiled(const std::string& size, const std::string& more = "") {
  const auto tensor = [](bool input, const std::string& device_size, const std::string& rest) {
    return fmt::format(
        "TensorArg(is_input={}, arg_index={}, device_dtype=DataFormats.SEN169_FP16, "
        "device_size={}, device_coordinates=[sympify('floor(c1/64)'), sympify('c0'), "
        "sympify('Mod(c1, 64)')], allocation={{'hbm': {}}}{})",
        input ? "True" : "False", input ? 0 : 1, device_size, input ? 1 << 30 : 1 << 28, rest);
  };
  return compiler::ParseOpSpecSource(
      "[LoopSpec(count=sympify('2'), body=[LoopSpec(count=sympify('4'), body=[OpSpec(op='exp', "
      "is_reduction=False, iteration_space={sympify('c0'): (sympify('512'), 32), sympify('c1'): "
      "(sympify('1024'), 1)}, tiled_symbols=[sympify('c0'), sympify('c1')], args=[" +
          tensor(true, "[64, 1024, 64]", "") + ", " + tensor(false, size, more) + "])])])]",
      "k.py");
}

TEST(TiledArguments, AKernelArgumentHasTheDeviceSizeOfItsWholeTensor) {
  EXPECT_NO_THROW(CheckTiledArguments(Tiled("[64, 1024, 64]"), "k.py"));
  EXPECT_NO_THROW(CheckTiledArguments(Tiled("[16, 512, 64]", ", per_tile_fixed=True"), "k.py"))
      << "every iteration writes the same tile";
}

TEST(TiledArguments, TheExampleOfTheDocumentIsToldWhatIsWrongWithIt) {
  try {
    CheckTiledArguments(Tiled("[16, 512, 64]"), "k.py");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("k.py: argument 1 of 'exp' has device_size [16, 512, 64], "
                                        "which is one tile of it, but loops of [2, 4] around"));
    EXPECT_THAT(error.what(), HasSubstr("here [64, 1024, 64]"));
  }
}

}  // namespace
}  // namespace spyre::cosim::argument_shapes_test
