// SPDX-License-Identifier: Apache-2.0
// Programs that name one behind them: one launch runs all, on the same cores and with the same LX.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/card_fixture.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::chained_programs_test {
namespace {

using ::testing::HasSubstr;

// Brings a stick to LX 0.
constexpr const char* kFirst = R"(
.program first
.cores 0x1
.lx 256
.table 1
.section load 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
)";
// Stores what the first has left there.
constexpr const char* kSecond = R"(
.program second
.cores 0x1
.lx 256
.table 1
.section store 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0
)";

class ChainedPrograms : public CardFixture {
 protected:
  // The image of `first`, which names `second` at `distance` (0: right behind), and that of
  // `second`.
  flex::DeviceHandle LoadBoth(Program first, const Program& second, uint32_t distance = 0) {
    const size_t own = Encode(first).size();
    first.next = distance != 0 ? distance : static_cast<uint32_t>(own);
    std::vector<uint8_t> images = Encode(first);
    const std::vector<uint8_t> behind = Encode(second);
    images.insert(images.end(), behind.begin(), behind.end());
    const flex::DeviceHandle handle = context_->Allocate(images.size(), flex::MemoryKind::kProgram);
    context_->DefaultStream().CopyToDevice(images.data(), handle, images.size());
    context_->DefaultStream().Synchronize();
    return handle;
  }
  static Program With(const char* text, const flex::DeviceHandle& tensor) {
    Program program = Assemble(text);
    program.address_table[0] = flex::ToDeviceVirtual(tensor);
    return program;
  }
};

TEST_F(ChainedPrograms, TheSecondFindsTheLxOfTheFirstAndTheLaunchEndsBehindIt) {
  Open(1);
  const std::vector<uint16_t> data(64, 0x3E01);
  const auto source = Upload(data);
  const auto target = context_->Allocate(128);
  const auto launch = LoadBoth(With(kFirst, source), With(kSecond, target));
  context_->DefaultStream().Launch(launch);
  context_->DefaultStream().Synchronize();
  EXPECT_EQ(Download<uint16_t>(target, 64), data);
  EXPECT_EQ(context_->CompletedOperations().size(), 4u) << "two copies, a launch, a copy";
}

// A first program without data does not take those of the second along.
TEST_F(ChainedPrograms, EachProgramSaysForItselfWhetherItMovesData) {
  Open();
  const std::vector<uint16_t> data(64, 0x3E01);
  const auto source = Upload(data);
  const std::vector<uint16_t> kept(64, 7);
  const auto target = Upload(kept);
  Program first = With(kFirst, source);
  Program second = With(kSecond, target);
  second.timing_only = true;
  context_->DefaultStream().Launch(LoadBoth(first, second));
  context_->DefaultStream().Synchronize();
  EXPECT_EQ(Download<uint16_t>(target, 64), kept);
}

TEST_F(ChainedPrograms, ASecondOfOtherCoresIsRefused) {
  Open();
  const auto tensor = context_->Allocate(128);
  Program second = With(kSecond, tensor);
  second.core_mask = 3;
  context_->DefaultStream().Launch(LoadBoth(With(kFirst, tensor), second));
  EXPECT_THAT(FailureOf([&] { context_->DefaultStream().Synchronize(); }),
              HasSubstr("BAD_PROGRAM"));
}

TEST_F(ChainedPrograms, ASecondBehindTheAllocationIsAPageFault) {
  Open();
  const auto tensor = context_->Allocate(128);
  const auto launch = LoadBoth(With(kFirst, tensor), With(kSecond, tensor), 1u << 20);
  context_->DefaultStream().Launch(launch);
  EXPECT_THAT(FailureOf([&] { context_->DefaultStream().Synchronize(); }), HasSubstr("PAGE_FAULT"));
}

using PartsOfBundles = ProgramFixture;

// Matmuls and what is done to their results, more than a core can keep the program of.
std::string LongList() {
  std::string text = R"(dims = { S = 64, K = 128, N = 128 }
tensors = [{ name = "x0", dims = ["S", "K"] }, { name = "w", dims = ["K", "N"] },
           { name = "v", dims = ["N", "K"] }]
ops = [)";
  for (int i = 0; i < 16; ++i) {
    text += fmt::format(R"({{ op = "matmul", inputs = ["x{0}", "w"], output = "y{0}" }},
{{ op = "softmax", inputs = ["y{0}"], output = "z{0}", dim = "N" }},
{{ op = "matmul", inputs = ["z{0}", "v"], output = "x{1}" }},)",
                        i, i + 1);
  }
  text.back() = ']';
  return text + "\n";
}

TEST_F(PartsOfBundles, AProgramThatACoreCannotKeepIsCutAndVerifiedAsOneLaunch) {
  const nlohmann::json report = Report(LongList());
  EXPECT_THAT(Call("disasm " + report.at("spyrecode").get<std::string>()).out, HasSubstr(".next"));
  EXPECT_EQ(report.at("verified").at("passed"), true);
  EXPECT_EQ(report.at("operations").at("completed"), 3) << "a copy, a correction and one launch";
  const nlohmann::json& steps = report.at("bundle").at("programs").at(0).at("steps");
  EXPECT_GT(steps.size(), 48u);
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(steps.at(i).at("name"), fmt::format("sdsc_{}.json", i));
}

TEST_F(PartsOfBundles, TwoTenantsWhoseProgramsAreCutKeepTheirLx) {
  Write("mlp.toml", "[workload]\n" + LongList());
  std::string both = "[card]\nnum_vfs = 2\n";
  for (const char* const tenant : {"1", "2"}) {
    both += fmt::format("[[tenant]]\nname = \"t{0}\"\nfunction = {0}\nworkload = \"mlp.toml\"\n",
                        tenant);
  }
  Write("both.toml", both);
  const Outcome outcome = Call("run both.toml");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace spyre::test::chained_programs_test
