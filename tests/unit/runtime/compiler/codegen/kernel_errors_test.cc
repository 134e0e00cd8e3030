// SPDX-License-Identifier: Apache-2.0
// What code generation refuses, and that the message names the operation, the dimension, the value
// and what would do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler::kernel_errors_test {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const KernelSpec& spec, const std::vector<std::string>& words) {
  try {
    GenerateKernel(spec);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
  }
}

KernelSpec Matmul(int64_t m, int64_t k, int64_t n) {
  KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", m}, {"k", k}, {"n", n}};
  return spec;
}

KernelSpec Rows(const std::string& op, int64_t rows, int64_t cols) {
  KernelSpec spec;
  spec.op = op;
  spec.dims = {{"rows", rows}, {"cols", cols}};
  return spec;
}

TEST(KernelErrors, NameAnUnknownOperation) {
  KernelSpec spec = Matmul(1, 1, 1);
  spec.op = "matmull";
  ExpectRefused(spec, {"matmull", "'matmul'?"});
}

TEST(KernelErrors, NameMissingUnknownAndImpossibleDimensions) {
  KernelSpec spec = Matmul(4, 4, 4);
  spec.dims.erase("k");
  ExpectRefused(spec, {"matmul", "'k' is missing"});
  spec = Matmul(4, 4, 4);
  spec.dims["rows"] = 3;
  ExpectRefused(spec, {"'rows'", "m, k, n"});
  ExpectRefused(Matmul(4, 0, 4), {"'k' is 0"});
  ExpectRefused(Matmul(-7, 4, 4), {"'m' is -7"});
  ExpectRefused(Matmul(INT64_MAX, 4, 4), {"'m' is 9223372036854775807"});
}

TEST(KernelErrors, NameTheSplitsThatArePossible) {
  KernelSpec spec = Matmul(3, 64, 64);
  spec.split = {{"m", 4}};
  ExpectRefused(spec, {"matmul", "'m' of 3 elements", "into 4 slices", "1 to 3 are possible"});
  spec.split = {{"q", 4}};
  ExpectRefused(spec, {"'q'", "m, n, k"});
  spec = Matmul(64, 64, 4096);
  spec.split = {{"m", 64}};
  ExpectRefused(spec, {"64 cores", "32 may be used"});
  spec.split = {{"m", 0}};
  ExpectRefused(spec, {"'m'", "0 slices", "1 to 32 are possible"});
  spec.split = {{"m", -1}};
  ExpectRefused(spec, {"'m'", "-1 slices"});
  // A stick is not divided, but the cores must be there.
  spec = Matmul(8, 64, 64);
  spec.split = {{"m", 8}, {"n", 8}};
  ExpectRefused(spec, {"64 cores", "32 may be used"});
}

TEST(KernelErrors, RefuseMoreCoresOrLxThanThereAre) {
  KernelSpec spec = Matmul(4, 4, 4);
  spec.cores = 33;
  ExpectRefused(spec, {"33 cores", "1 to 32"});
  spec.cores = 0;
  ExpectRefused(spec, {"0 cores"});
  spec = Matmul(4, 4, 4);
  spec.lx_bytes = kLxUsableBytes + 1;
  ExpectRefused(spec, {"2031617", "2031616"});
}

TEST(KernelErrors, SayHowMuchLxIsNeeded) {
  KernelSpec spec = Matmul(4, 256, 128);
  spec.cores = 1;
  spec.lx_bytes = 16 * 1024;
  ExpectRefused(spec, {"matmul", "17024", "16384", "lx_bytes"});
  spec = Rows("add", 4, 64);
  spec.lx_bytes = 512;
  ExpectRefused(spec, {"add", "768", "512"});
  spec = Rows("sum", 400, 64);
  spec.axis = "rows";
  spec.cores = 1;
  spec.lx_bytes = 8 * 1024;
  ExpectRefused(spec, {"sum", "'rows' of 400", "8192"});
}

TEST(KernelErrors, RefuseASoftmaxRowThatIsLongerThanLxIfItHasToStayThere) {
  KernelSpec spec = Rows("softmax", 4, 1000 * 1000);
  spec.schedule = Schedule::kPublic;
  EXPECT_NO_THROW(GenerateKernel(spec)) << "passes through memory";
  spec.schedule = Schedule::kOwn;
  ExpectRefused(spec, {"softmax", "1000000 columns", "2000000 bytes", "2031616"});
  spec = Rows("softmax", 4, 512);
  spec.split = {{"cols", 2}};
  ExpectRefused(spec, {"softmax", "'cols' is split into 2", "must be 1"});
}

TEST(KernelErrors, NameAnAxisThatIsNoDimension) {
  KernelSpec spec = Rows("sum", 4, 64);
  spec.axis = "batch";
  ExpectRefused(spec, {"sum", "axis 'batch'", "rows, cols"});
}

TEST(KernelErrors, NameAnArgumentWhoseLayoutDoesNotFit) {
  KernelSpec spec = Matmul(4, 128, 64);
  const auto layout = [](const std::vector<int64_t>& shape, const std::vector<int>& order,
                         DataFormat format = DataFormat::kSen169Fp16) {
    return MakeLayout(shape, ContiguousStrides(shape), format, order);
  };
  spec.layouts = {layout({4, 128}, {0, 1}), layout({128, 64}, {0, 1})};
  ExpectRefused(spec, {"2 layouts", "3 arguments"});
  spec.layouts.push_back(layout({4, 65}, {0, 1}));
  ExpectRefused(spec, {"'out'", "[4, 65]", "[4, 64]"});
  spec.layouts[2] = layout({4, 64}, {1, 0});
  ExpectRefused(spec, {"'out'", "'m' inside its sticks", "'n' is needed"});
  spec.layouts[2] = layout({4, 64}, {0, 1}, DataFormat::kIeeeFp32);
  ExpectRefused(spec, {"'out'", "IEEE_FP32", "SEN169_FP16"});
}

TEST(KernelErrors, RefuseMoreThan256MegabytesOfATensorPerCore) {
  KernelSpec spec = Rows("neg", 16384, 16384);  // 512 MB
  spec.cores = 1;
  ExpectRefused(spec, {"neg", "'a'", "268435456"});
  spec.cores = 2;
  EXPECT_EQ(GenerateKernel(spec).plan.cores_used, 2);
}

}  // namespace
}  // namespace spyre::compiler::kernel_errors_test
