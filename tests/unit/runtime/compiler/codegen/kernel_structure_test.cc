// SPDX-License-Identifier: Apache-2.0
// What generated programs look like: images, sizes, tiles, work division, program correction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/matmul_tiling.h"
#include "tests/unit/runtime/compiler/codegen/kernel_harness.h"

namespace spyre::compiler::harness::kernel_structure_test {
namespace {

using ::testing::ElementsAre;

KernelSpec Spec(const std::string& op, std::map<std::string, int64_t> dims) {
  KernelSpec spec;
  spec.op = op;
  spec.dims = std::move(dims);
  return spec;
}

KernelSpec SpecFor(const Operation& op, int64_t size) {
  if (op.name == "matmul") return Spec("matmul", {{"m", size}, {"k", size}, {"n", size}});
  if (op.name == "batchmatmul") {
    return Spec("bmm", {{"batch", 4}, {"m", size}, {"k", size}, {"n", size}});
  }
  return Spec(std::string(op.name), {{"rows", size}, {"cols", size}});
}

size_t Instructions(const Kernel& kernel) {
  size_t count = 0;
  for (const Section& section : kernel.compute.sections) count += section.code.size();
  return count;
}

TEST(KernelStructure, EveryImageDecodesToTheSameProgramWithAnEmptyTable) {
  for (const Operation& op : Operations()) {
    const Kernel kernel = GenerateKernel(SpecFor(op, 512));
    for (const Program* program : {&kernel.compute, &kernel.correction}) {
      const std::vector<uint8_t> image = Encode(*program);
      const Program decoded = Decode(image.data(), image.size());
      EXPECT_EQ(decoded.name, program->name);
      EXPECT_EQ(decoded.core_registers, program->core_registers);
      ASSERT_EQ(decoded.sections.size(), program->sections.size());
      for (size_t i = 0; i < decoded.sections.size(); ++i) {
        EXPECT_EQ(decoded.sections[i].code, program->sections[i].code) << program->name;
      }
      for (uint64_t entry : decoded.address_table) EXPECT_EQ(entry, 0u);
    }
  }
}

// A single kernel is one step: its buffers are all there at once.
TEST(KernelStructure, LxBuffersLieBesideEachOtherAndEndWhereTheUseOfLxEnds) {
  for (const Operation& op : Operations()) {
    const Kernel kernel = GenerateKernel(SpecFor(op, 512));
    uint64_t end = 0;
    for (size_t i = 0; i < kernel.lx.size(); ++i) {
      const LxUse& use = kernel.lx[i];
      EXPECT_FALSE(use.name.empty()) << op.name;
      EXPECT_EQ(use.cores, kernel.compute.core_mask) << op.name;
      EXPECT_EQ(use.first_step, 0);
      EXPECT_EQ(use.last_step, 0);
      for (size_t j = 0; j < i; ++j) {
        const LxUse& other = kernel.lx[j];
        EXPECT_TRUE(use.address >= other.address + other.bytes ||
                    other.address >= use.address + use.bytes)
            << op.name << ": " << use.name << " and " << other.name;
      }
      end = std::max(end, use.address + use.bytes);
    }
    EXPECT_EQ(end, kernel.plan.lx_bytes_used) << op.name;
  }
}

TEST(KernelStructure, ProgramsDoNotGrowWithTheirTripCounts) {
  // Sizes from one tile to tens of thousands. Counts differ by a few where loops or constants fall
  // together, or where an operand stays in LX.
  constexpr size_t kMost = 300;
  constexpr size_t kMostOfFivePasses = 400;  // of the public softmax
  for (const Schedule schedule : {Schedule::kOwn, Schedule::kPublic}) {
    for (const Operation& op : Operations()) {
      const bool matmul = op.kind == OperationKind::kMatmul;
      const bool softmax = op.kind == OperationKind::kSoftmax;
      const bool passes = softmax && schedule == Schedule::kPublic;
      for (int64_t size = 64; size <= 4096; size *= 2) {
        KernelSpec spec = SpecFor(op, size);
        spec.schedule = schedule;
        spec.lx_bytes = 128 * 1024;
        spec.split = {{matmul ? "m" : "rows", 2}};
        if (softmax) spec.dims["cols"] = 2048;
        EXPECT_LE(Instructions(GenerateKernel(spec)), passes ? kMostOfFivePasses : kMost)
            << op.name << " " << size;
      }
    }
  }
}

TEST(KernelStructure, TimingOnlyIsAPropertyOfTheProgramAndChangesNoInstruction) {
  KernelSpec spec = Spec("matmul", {{"m", 64}, {"k", 64}, {"n", 64}});
  const Kernel functional = GenerateKernel(spec);
  spec.timing_only = true;
  const Kernel timing = GenerateKernel(spec);
  EXPECT_TRUE(timing.compute.timing_only);
  EXPECT_FALSE(functional.compute.timing_only);
  EXPECT_EQ(Encode(timing.compute).size(), Encode(functional.compute).size());
  // The correction must work on real data even then: it decides where the kernel loads from.
  EXPECT_FALSE(timing.correction.timing_only);
}

// A core has 512 x 256 of the output. The closed compiler's fifth of LX holds 128 x 256 of it, with
// 512 bytes for each row and column and four for each sum: 327,680 of 406,323 bytes.
TEST(KernelStructure, ThePublicScheduleHasTheTilesOfTheClosedCompiler) {
  KernelSpec spec = Spec("matmul", {{"m", 2048}, {"k", 2048}, {"n", 2048}});
  spec.split = {{"m", 4}, {"n", 8}};
  spec.schedule = Schedule::kPublic;
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(kernel.plan.tile.at("m"), 128);
  EXPECT_EQ(kernel.plan.tile.at("n"), 256);
  EXPECT_EQ(kernel.plan.tile.at("k"), 512);
  EXPECT_TRUE(kernel.compute.generated_loops);
}

int64_t CountOf(Op op, const Kernel& kernel) {
  int64_t count = 0;
  for (const Section& section : kernel.compute.sections) {
    count += std::count_if(section.code.begin(), section.code.end(),
                           [&](const Instruction& in) { return in.op == op; });
  }
  return count;
}

// 128 rows of 4 KiB on a core stay in its LX. 512 rows, 2 MiB, do not: they pass through memory
// five times, and three times their results do.
TEST(KernelStructure, ThePublicSoftmaxGoesThroughMemoryWhereItsRowsDoNotStayInLx) {
  KernelSpec spec = Spec("softmax", {{"rows", 4096}, {"cols", 2048}});
  spec.schedule = Schedule::kPublic;
  const Kernel stays = GenerateKernel(spec);
  EXPECT_EQ(CountOf(Op::kLoad, stays), 1);
  EXPECT_EQ(CountOf(Op::kStore, stays), 1);
  EXPECT_EQ(stays.plan.tile.at("rows"), 128) << "all are there before anything is computed";
  spec.dims["rows"] = 16384;
  const Kernel passes = GenerateKernel(spec);
  EXPECT_EQ(CountOf(Op::kLoad, passes), 5);
  EXPECT_EQ(CountOf(Op::kStore, passes), 3);
  EXPECT_EQ(passes.plan.tile.at("rows") * 128 * passes.plan.tile.at("cols") / 64, 8 << 10)
      << "a tile of other streams ...";
  EXPECT_EQ(passes.plan.tile.at("cols"), 64) << "... that lies in one piece in memory";
}

// Sums of all rows of a core, 4 MiB, have no room in LX while they wait for the next pass.
TEST(KernelStructure, ThePublicSoftmaxOfTooManyRowsIsThatOfTheOwnSchedule) {
  KernelSpec spec = Spec("softmax", {{"rows", 1 << 20}, {"cols", 64}});
  spec.split = {{"rows", 1}};
  spec.schedule = Schedule::kOwn;
  const Kernel own = GenerateKernel(spec);
  spec.schedule = Schedule::kPublic;
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(CountOf(Op::kLoad, kernel), CountOf(Op::kLoad, own));
  EXPECT_EQ(CountOf(Op::kStore, kernel), 1);
  EXPECT_TRUE(kernel.compute.generated_loops) << "of the same instructions";
}

TEST(KernelStructure, ThePublicScheduleKeepsBuffersInTheLxThatIsLeft) {
  KernelSpec spec = Spec("matmul", {{"m", 2048}, {"k", 2048}, {"n", 2048}});
  spec.schedule = Schedule::kPublic;
  for (const uint64_t lx_bytes : {40u, 100u, 300u, 900u}) {
    spec.lx_bytes = lx_bytes * 1024;
    EXPECT_LE(GenerateKernel(spec).plan.lx_bytes_used, spec.lx_bytes);
  }
}

TEST(MatmulTilingOf, AnyShareFitsTheLxItWasGiven) {
  std::mt19937 random(1);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int run = 0; run < 300; ++run) {
    const MatmulShare share{from(1, 5000),
                            from(1, 300),
                            from(1, 300),
                            from(1, 8),
                            static_cast<int>(from(1, 32)),
                            static_cast<int>(from(1, 32)),
                            static_cast<int>(from(1, 32)),
                            run % 2 == 0};
    const auto lx_bytes = static_cast<uint64_t>(from(40 * 1024, kLxUsableBytes));
    const MatmulTiling tiling = ChooseMatmulTiling(share, lx_bytes);
    SCOPED_TRACE(fmt::format("m {} n {} k {} lx {}", share.m, share.n, share.k, lx_bytes));
    EXPECT_LE(tiling.LxBytes(share), static_cast<int64_t>(lx_bytes));
    EXPECT_TRUE(tiling.m >= 1 && tiling.m <= share.m);
    EXPECT_TRUE(tiling.n >= 1 && tiling.n <= share.n);
    EXPECT_TRUE(tiling.k >= 1 && tiling.k <= share.k);
    EXPECT_TRUE(tiling.m * tiling.n * 64 <= 64 * 1024 || (tiling.m == 1 && tiling.n == 1));
  }
}

TEST(MatmulTilingOf, ALargeShareTakesSquareTilesAsLargeAsTheAccumulator) {
  // 8192 x 2048 x 2048 on 16 x 2 cores: 512 rows, 16 sticks of n, 32 of k.
  const MatmulTiling tiling =
      ChooseMatmulTiling({512, 16, 32, 1, 2, 16, 32, false}, kLxUsableBytes);
  EXPECT_EQ(tiling.m, 256);
  EXPECT_EQ(tiling.n * 64, 256) << "operands pass 2 and 4 times, the least for 64 K elements";
}

// Whether some core register holds value(core) on every core that takes part.
bool HasCoreRegister(const Kernel& kernel, const std::function<int64_t(int)>& value) {
  const auto& rows = kernel.compute.core_registers;
  for (size_t column = 0; column < rows[0].size(); ++column) {
    bool all = true;
    for (int core = 0; core < kernel.plan.cores_used; ++core) {
      const auto held = static_cast<int64_t>(rows[static_cast<size_t>(core)][column]);
      all = all && held == value(core);
    }
    if (all) return true;
  }
  return false;
}

TEST(WorkSplit, ForcedSlicesAreDealtToCoresFirstDimensionFastest) {
  KernelSpec spec = Spec("matmul", {{"m", 64}, {"k", 256}, {"n", 512}});
  spec.split = {{"m", 2}, {"n", 4}};
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(kernel.plan.cores_used, 8);
  EXPECT_EQ(kernel.compute.core_mask, 0xFFu);
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core % 2; })) << "m";
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core / 2; })) << "n";
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core % 2 == 0 ? 0x55 : 0xAA; }))
      << "cores that share a";
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return 3 << core / 2 * 2; }))
      << "cores that share b";
}

TEST(WorkSplit, ADividedKIsTheFastestAndItsSlicesAreNeighbours) {
  KernelSpec spec = Spec("matmul", {{"m", 2}, {"k", 256}, {"n", 128}});
  spec.split = {{"k", 4}, {"n", 2}};
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core % 4; })) << "k";
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core / 4; })) << "n";
  EXPECT_TRUE(HasCoreRegister(kernel, [](int core) { return core + 1; })) << "the next core";
}

TEST(WorkSplit, FollowsTheRuleWhereNothingIsForced) {
  const Kernel kernel = GenerateKernel(Spec("matmul", {{"m", 512}, {"k", 4096}, {"n", 12800}}));
  // 512 rows are the largest output loop: 32 slices.
  EXPECT_EQ(kernel.plan.split, (std::map<std::string, int>{{"m", 32}, {"k", 1}, {"n", 1}}));
}

TEST(Correction, PatchesTheTableOfTheComputeImageAndNothingElse) {
  for (const char* op : {"neg", "add"}) {  // an even and an odd number of arguments
    const Kernel kernel = GenerateKernel(Spec(op, {{"rows", 40}, {"cols", 130}}));
    Memory memory;
    memory.Add(kProgramBase, kernel.allocation_bytes);
    const std::vector<uint8_t> before = Encode(kernel.compute);
    std::memcpy(memory.At(kProgramBase, before.size()), before.data(), before.size());
    const size_t count = kernel.arguments.size();
    for (size_t i = 0; i < count; ++i) {
      CorrectionRecord record{};
      record.kind = 1;
      record.region = static_cast<uint16_t>(i);
      record.offset = 128 * (i + 5);
      for (int d = 0; d < 6; ++d) record.stride[d] = 1000 * i + d;
      const uint64_t at = kProgramBase + kernel.correction_input_offset + i * sizeof(record);
      std::memcpy(memory.At(at, sizeof(record)), &record, sizeof(record));
    }
    Interpreter(kernel.correction, memory, 1).Run();
    const uint8_t* image = memory.At(kProgramBase, before.size());
    const Program after = Decode(image, before.size());  // checks the CRC as well
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(after.address_table[8 * i], SegmentAddress(i, 128 * (i + 5)));
      for (int d = 0; d < 6; ++d) EXPECT_EQ(after.address_table[8 * i + 1 + d], 1000 * i + d);
      EXPECT_EQ(after.address_table[8 * i + 7], 0u);
    }
  }
}

TEST(Allocation, HasRoomForEveryPartOnStickBoundaries) {
  for (const Operation& op : Operations()) {
    const Kernel kernel = GenerateKernel(SpecFor(op, 256));
    EXPECT_EQ(kernel.compute_bytes, Encode(kernel.compute).size());
    EXPECT_EQ(kernel.correction_bytes, Encode(kernel.correction).size());
    EXPECT_TRUE(IsStickAligned(kernel.correction_offset | kernel.correction_input_offset |
                               kernel.correction_input_bytes | kernel.allocation_bytes));
    EXPECT_GE(kernel.correction_offset, kernel.compute_bytes);
    EXPECT_GE(kernel.correction_input_offset, kernel.correction_offset + kernel.correction_bytes);
    EXPECT_EQ(kernel.correction_input_bytes, AlignUp(kernel.arguments.size() * 64, 128));
  }
}

nlohmann::json ReadJson(const std::filesystem::path& path) {
  return SortedJsonOf(ReadFile(path.string(), "the file"));
}

TEST(SpyreCode, HoldsThePlansTheImagesAndTheArguments) {
  const Kernel kernel = GenerateKernel(Spec("matmul", {{"m", 100}, {"k", 200}, {"n", 300}}));
  const auto dir = std::filesystem::path(::testing::TempDir()) / "spyrecode_of_matmul" / "kernel";
  std::filesystem::remove_all(dir.parent_path());
  WriteSpyreCode(kernel, dir);

  const nlohmann::json code = ReadJson(dir / "spyrecode.json");
  const auto& prepare = code.at("JobPreparationPlan");
  ASSERT_EQ(prepare.size(), 2u);
  EXPECT_EQ(prepare[0]["command"], "Allocate");
  EXPECT_EQ(prepare[0]["properties"]["size"], std::to_string(kernel.allocation_bytes));
  EXPECT_EQ(prepare[1]["properties"]["dev_ptr"], std::to_string(kProgramBase));
  EXPECT_EQ(prepare[1]["properties"]["size"],
            std::to_string(std::filesystem::file_size(dir / "init_binary.bin")));
  std::vector<std::string> commands;
  for (const auto& command : code.at("JobExecPlan")) commands.push_back(command["command"]);
  EXPECT_THAT(commands,
              ElementsAre("ComputeOnHost", "DataTransfer", "ComputeOnDevice", "ComputeOnDevice"));
  const auto& last = code["JobExecPlan"][3]["properties"];
  EXPECT_EQ(last["job_bin_ptr"], std::to_string(kProgramBase));
  EXPECT_EQ(last["name"], "matmul");

  const auto& arguments = code["Metadata"]["arguments"];
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[0]["dims"], (nlohmann::json{"m", "k"}));
  EXPECT_EQ(arguments[1]["shape"], (nlohmann::json{200, 300}));
  EXPECT_EQ(arguments[2]["role"], "output");
  EXPECT_EQ(arguments[2]["device_size"], (nlohmann::json{5, 100, 64}));
  EXPECT_EQ(code["Metadata"]["reduction_dims"], nlohmann::json{"k"});
  EXPECT_EQ(ReadJson(dir / "hcm.json")["records"].size(), 3u);

  std::ifstream file(dir / "init_binary.bin", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const auto* image = reinterpret_cast<const uint8_t*>(bytes.data());
  EXPECT_EQ(Decode(image, kernel.compute_bytes).name, "matmul");
  EXPECT_EQ(Decode(image + kernel.correction_offset, kernel.correction_bytes).name,
            "matmul correction");
}

// Whether some core register holds, on every core, a group of `size` cores that it belongs to.
bool HasGroupsOf(const Kernel& kernel, int size) {
  const auto& rows = kernel.compute.core_registers;
  for (size_t column = 0; column < rows[0].size(); ++column) {
    bool all = true;
    for (int core = 0; core < kernel.plan.cores_used; ++core) {
      const auto group = static_cast<uint64_t>(rows[static_cast<size_t>(core)][column]);
      all = all && __builtin_popcountll(group) == size && (group >> core & 1) != 0;
    }
    if (all) return true;
  }
  return false;
}

TEST(Multicast, ReadsASharedOperandOnceForAllCoresThatShareIt) {
  KernelSpec spec = Spec("matmul", {{"m", 64}, {"k", 256}, {"n", 512}});
  spec.split = {{"m", 4}, {"n", 8}};
  const Kernel kernel = GenerateKernel(spec);
  EXPECT_EQ(kernel.plan.cores_used, 32);
  EXPECT_TRUE(HasGroupsOf(kernel, 8)) << "cores that share a";
  EXPECT_TRUE(HasGroupsOf(kernel, 4)) << "cores that share b";
  EXPECT_FALSE(HasGroupsOf(kernel, 2));
  spec.split = {{"m", 4}, {"n", 1}};
  EXPECT_TRUE(HasGroupsOf(GenerateKernel(spec), 4)) << "all share b";
  EXPECT_FALSE(HasGroupsOf(GenerateKernel(spec), 8)) << "a is shared with nobody";
}

}  // namespace
}  // namespace spyre::compiler::harness::kernel_structure_test
