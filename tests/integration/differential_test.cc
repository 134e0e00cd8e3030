// SPDX-License-Identifier: Apache-2.0
// Random operations, shapes and work divisions on one card, against the independent reference, bit
// for bit.
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "cosim/reference/reference.h"
#include "cosim/verify/check.h"
#include "cosim/workload/operation_workload.h"
#include "model/contract/formats.h"
#include "model/contract/op_table.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/compiler/ops/op_list.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::differential_test {
namespace {

class DifferentialTest : public CardFixture {
 protected:
  int64_t Pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::vector<uint16_t> Values(int64_t count) {
    std::vector<uint16_t> values(static_cast<size_t>(count));
    std::uniform_real_distribution<float> uniform(-4, 4);
    for (uint16_t& value : values) {
      // Mostly ordinary numbers, now and then any code at all.
      value = Pick(0, 99) == 0 ? static_cast<uint16_t>(Pick(0, 0xFFFF))
                               : HalfFromFloat(uniform(random_));
    }
    return values;
  }

  // What a test changes on one side, to see that the other notices.
  struct Change {
    std::function<void(compiler::Kernel&)> program = [](compiler::Kernel&) {};
    std::function<void(std::vector<uint16_t>&)> results = [](std::vector<uint16_t>&) {};
    std::string reference;  // the operation whose reference is asked; "": that of the kernel
  };

  // Compiles, runs and compares one kernel; returns the number of wrong elements.
  int64_t Mismatches(const compiler::KernelSpec& spec) { return Mismatches(spec, Change()); }
  int64_t Mismatches(const compiler::KernelSpec& spec, const Change& change) {
    compiler::Kernel kernel = compiler::GenerateKernel(spec);
    change.program(kernel);
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const auto directory =
        std::filesystem::path(::testing::TempDir()) / "spyre_differential" / info->name();
    compiler::WriteSpyreCode(kernel, directory);
    auto stream = runtime::SpyreStream::Default(*context_);
    runtime::ExecutionPlan plan(directory);
    runtime::LoadPlan(stream, plan);
    std::vector<std::vector<uint16_t>> inputs;
    std::vector<runtime::SpyreTensor> tensors;
    int64_t outputs = 1;
    for (const compiler::KernelArgument& argument : kernel.arguments) {
      int64_t elements = 1;
      for (const int64_t size : argument.shape) elements *= size;
      if (argument.is_output) {
        outputs = elements;
        tensors.push_back(runtime::AllocateTensor(*context_, argument.layout));
      } else {
        inputs.push_back(Values(elements));
        tensors.push_back(runtime::TensorFromHost(stream, argument.layout, inputs.back().data(),
                                                  DataFormat::kIeeeFp16));
      }
    }
    runtime::LaunchKernel(stream, plan, tensors);
    std::vector<uint16_t> out(static_cast<size_t>(outputs));
    runtime::CopyTensorFromDevice(stream, tensors.back(), out.data(), DataFormat::kIeeeFp16);
    stream.Synchronize();
    change.results(out);

    const auto size = [&](const char* dim) {
      const auto found = spec.dims.find(dim);
      return found == spec.dims.end() ? 1 : found->second;
    };
    cosim::ReferenceProblem problem;
    problem.op = change.reference.empty() ? spec.op : change.reference;
    problem.batch = size("batch");
    problem.m = size("m");
    problem.k = size("k");
    problem.n = size("n");
    problem.rows = size("rows");
    problem.cols = size("cols");
    problem.reduce_rows = spec.axis == "rows";
    problem.slice_ends = cosim::ReducedSliceEnds(spec, spec.dims, {}, kernel.plan);
    problem.a = inputs[0].data();
    problem.b = inputs.size() > 1 ? inputs[1].data() : nullptr;
    return cosim::Verify(*cosim::MakeReference(problem), out.data(), 0, 1).mismatches;
  }
  // Of all operations of these kinds.
  static std::vector<std::string> Names(const std::set<compiler::OperationKind>& kinds) {
    std::vector<std::string> names;
    for (const compiler::Operation& op : compiler::Operations())
      if (kinds.count(op.kind) != 0) names.emplace_back(op.name);
    return names;
  }
  static std::string Describe(const compiler::KernelSpec& spec) {
    std::string text = spec.op + " axis " + spec.axis + " cores " + std::to_string(spec.cores);
    for (const auto& [dim, size] : spec.dims) text += " " + dim + "=" + std::to_string(size);
    for (const auto& [dim, slices] : spec.split)
      text += " split." + dim + "=" + std::to_string(slices);
    return text + " lx " + std::to_string(spec.lx_bytes);
  }

  std::mt19937 random_{20240607};
};

TEST_F(DifferentialTest, MatmulsOfAnyShapeAndDivisionAreBitExact) {
  Open(1);
  for (int round = 0; round < 40; ++round) {
    compiler::KernelSpec spec;
    spec.op = round % 4 == 3 ? "batchmatmul" : "matmul";
    spec.dims = {{"m", Pick(1, 90)}, {"k", Pick(1, 700)}, {"n", Pick(1, 300)}};
    if (spec.op == "batchmatmul") spec.dims["batch"] = Pick(1, 5);
    spec.cores = static_cast<int>(Pick(1, 32));
    if (round % 2 == 0) spec.lx_bytes = static_cast<uint64_t>(Pick(120, 400)) << 10;
    EXPECT_EQ(Mismatches(spec), 0) << "elements of " << Describe(spec);
  }
}

TEST_F(DifferentialTest, PointwiseOperationsOfAnyShapeAreBitExact) {
  Open();
  const std::vector<std::string> names =
      Names({compiler::OperationKind::kUnary, compiler::OperationKind::kBinary});
  for (int round = 0; round < 3 * static_cast<int>(names.size()); ++round) {
    compiler::KernelSpec spec;
    spec.op = names[static_cast<size_t>(round) % names.size()];
    spec.dims = {{"rows", Pick(1, 200)}, {"cols", Pick(1, 500)}};
    if (round % 5 == 0) spec.dims["batch"] = Pick(1, 4);
    spec.cores = static_cast<int>(Pick(1, 32));
    if (round % 2 == 0) spec.lx_bytes = static_cast<uint64_t>(Pick(8, 64)) << 10;
    EXPECT_EQ(Mismatches(spec), 0) << "elements of " << Describe(spec);
  }
}

TEST_F(DifferentialTest, ReductionsAndSoftmaxOfAnyShapeAreBitExact) {
  Open(1);
  const std::vector<std::string> names =
      Names({compiler::OperationKind::kReduction, compiler::OperationKind::kSoftmax});
  for (int round = 0; round < 8 * static_cast<int>(names.size()); ++round) {
    compiler::KernelSpec spec;
    spec.op = names[static_cast<size_t>(round) % names.size()];
    spec.dims = {{"rows", Pick(1, 300)}, {"cols", Pick(1, 900)}};
    spec.axis = spec.op != "softmax" && Pick(0, 1) == 0 ? "rows" : "cols";
    spec.cores = static_cast<int>(Pick(1, 32));
    if (spec.op != "softmax" && round % 2 == 0)
      spec.lx_bytes = static_cast<uint64_t>(Pick(32, 96)) << 10;
    EXPECT_EQ(Mismatches(spec), 0) << "elements of " << Describe(spec);
  }
}

// Slices of different lengths, sometimes with fewer sticks than slices.
TEST_F(DifferentialTest, ForcedDivisionsThatDoNotDivideAreBitExact) {
  Open(1);
  const std::vector<std::string> names = {"matmul", "add", "sum", "batchmatmul", "gelu", "softmax"};
  for (int round = 0; round < 48; ++round) {
    compiler::KernelSpec spec;
    spec.op = names[static_cast<size_t>(round) % names.size()];
    const bool matmul =
        compiler::RequireOperation(spec.op).kind == compiler::OperationKind::kMatmul;
    if (matmul) {
      spec.dims = {{"m", Pick(1, 90)}, {"k", Pick(1, 700)}, {"n", Pick(1, 700)}};
    } else {
      spec.dims = {{"rows", Pick(1, 200)}, {"cols", Pick(1, 900)}};
    }
    if (spec.op == "batchmatmul") spec.dims["batch"] = Pick(1, 5);
    if (spec.op == "sum" && round % 4 < 2) spec.axis = "rows";
    int64_t cores = 32;
    for (const auto& [dim, size] : spec.dims) {
      const bool whole = spec.op == "softmax" && dim == "cols";
      spec.split[dim] = whole ? 1 : static_cast<int>(Pick(1, std::min({size, cores, int64_t{9}})));
      cores /= spec.split[dim];
    }
    if (round % 2 == 0 && spec.op != "softmax")
      spec.lx_bytes = static_cast<uint64_t>(Pick(64, 300)) << 10;
    EXPECT_EQ(Mismatches(spec), 0) << "elements of " << Describe(spec);
  }
}

// Results that would be right if the model or the reference had another function turn a run wrong,
// for every operation; so does one element that is off by a unit in the last place.
class EitherSideTest : public DifferentialTest {
 protected:
  // All operations of a kind, on shapes whose results stay finite.
  static std::vector<compiler::KernelSpec> Specs(compiler::OperationKind kind) {
    std::vector<compiler::KernelSpec> specs;
    for (const std::string& name : Names({kind})) {
      compiler::KernelSpec& spec = specs.emplace_back();
      spec.op = name;
      spec.dims = {{"rows", 8}, {"cols", 96}};
      spec.axis = "rows";
      spec.cores = 2;
    }
    return specs;
  }

  // Each function of the vector unit is the third one behind it, as if the unit computed that.
  static void ReplaceFunctions(compiler::Kernel& kernel) {
    constexpr size_t kBehind = 3;
    constexpr size_t kOfTwoValues = static_cast<size_t>(BinaryFn::kLessEqual) + 1;
    for (Section& section : kernel.compute.sections) {
      for (Instruction& instruction : section.code) {
        const FnSet set = FindOp(static_cast<uint8_t>(instruction.op))->fn_set;
        if (set != FnSet::kUnary && set != FnSet::kBinary && set != FnSet::kReduce) continue;
        const size_t count = set == FnSet::kBinary ? kOfTwoValues : FnNames(set).size();
        const auto fn = static_cast<size_t>(instruction.fn & kFnMask);
        instruction.fn =
            static_cast<uint8_t>((instruction.fn & ~kFnMask) | ((fn + kBehind) % count));
      }
    }
  }

  static void ChangeOneUnit(std::vector<uint16_t>& results) {
    for (uint16_t& result : results) {
      if (!std::isfinite(HalfToFloat(result))) continue;
      result ^= 2;  // float16 has one bit of fraction more than SEN169_FP16
      return;
    }
  }
};

constexpr compiler::OperationKind kVectorKinds[] = {compiler::OperationKind::kUnary,
                                                    compiler::OperationKind::kBinary,
                                                    compiler::OperationKind::kReduction};

TEST_F(EitherSideTest, AnotherFunctionOfTheModelTurnsARunWrong) {
  Open(1);
  for (const auto kind : kVectorKinds) {
    for (const compiler::KernelSpec& spec : Specs(kind)) {
      Change change;
      change.program = ReplaceFunctions;
      EXPECT_GT(Mismatches(spec, change), 0) << Describe(spec);
    }
  }
}

TEST_F(EitherSideTest, AnotherFunctionOfTheReferenceTurnsARunWrong) {
  Open(1);
  for (const auto kind : kVectorKinds) {
    const std::vector<compiler::KernelSpec> specs = Specs(kind);
    for (size_t i = 0; i < specs.size(); ++i) {
      Change change;
      change.reference = specs[(i + 3) % specs.size()].op;
      EXPECT_GT(Mismatches(specs[i], change), 0) << Describe(specs[i]) << " " << change.reference;
    }
  }
}

TEST_F(EitherSideTest, OneUnitInTheLastPlaceOfOneElementTurnsARunWrong) {
  Open(1);
  for (const auto kind : kVectorKinds) {
    for (const compiler::KernelSpec& spec : Specs(kind)) {
      EXPECT_EQ(Mismatches(spec), 0) << Describe(spec);
      Change change;
      change.results = ChangeOneUnit;
      EXPECT_EQ(Mismatches(spec, change), 1) << Describe(spec);
    }
  }
}

}  // namespace
}  // namespace spyre::test::differential_test
