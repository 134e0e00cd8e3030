// SPDX-License-Identifier: Apache-2.0
// The build's stack figure: from disassembly to the deepest path.
#include "firmware/tools/stack_depth.h"

#include <gmock/gmock.h>

#include <sstream>
#include <stdexcept>

namespace spyre::firmware::stack_depth_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Listing Read(const std::string& text) {
  std::istringstream stream(text);
  return ReadListing(stream);
}

std::string Error(const std::string& text) {
  try {
    DeepestStack(Read(text), "_start");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

constexpr char kProgram[] =
    "00000800 g       *ABS*\t00000000 __stack_bytes\n"
    "80000000 <_start>:\n"
    "80000000:\t00028113          \tmv\tsp,t0\n"
    "80000004:\t00c000ef          \tjal\tra,80000010 <main>\n"
    "80000010 <main>:\n"
    "80000010:\tff010113          \tadd\tsp,sp,-16\n"
    "80000014:\t00112623          \tsw\tra,12(sp)\n"
    "80000018:\t00c000ef          \tjal\tra,80000030 <shallow>\n"
    "8000001c:\t00c000ef          \tjal\tra,80000040 <deep>\n"
    "80000020:\t01010113          \tadd\tsp,sp,16\n"
    "80000024:\t00008067          \tret\n"
    "80000030 <shallow>:\n"
    "80000030:\tfe010113          \taddi\tsp,sp,-32\n"
    "80000034:\tfe0ff06f          \tj\t80000030 <shallow>\n"
    "80000040 <deep>:\n"
    "80000040:\tfd010113          \tadd\tsp,sp,-48\n"
    "80000044:\tfd010113          \tadd\tsp,sp,-8\n"
    "80000048:\tfd010113          \tbnez\ta0,80000040 <deep+0x4>\n";

TEST(StackDepth, IsThatOfTheDeepestPath) {
  const Listing listing = Read(kProgram);
  const Depth depth = DeepestStack(listing, "_start");
  EXPECT_EQ(depth.bytes, 72u);
  EXPECT_THAT(depth.path, ElementsAre("_start", "main", "deep"));
  EXPECT_EQ(listing.symbols.at("__stack_bytes"), 2048u);
}

TEST(StackDepth, AJumpIntoAnotherFunctionIsACall) {
  EXPECT_EQ(DeepestStack(Read("80000000 <_start>:\n"
                              "80000000:\t0100006f          \tj\t80000010 <tail>\n"
                              "80000010 <tail>:\n"
                              "80000010:\tff010113          \tadd\tsp,sp,-16\n"),
                         "_start")
                .bytes,
            16u);
}

TEST(StackDepth, RecursionIsAnErrorWithItsPath) {
  EXPECT_THAT(Error("80000000 <_start>:\n"
                    "80000000:\t0100006f          \tjal\tra,80000010 <even>\n"
                    "80000010 <even>:\n"
                    "80000010:\t0100006f          \tjal\tra,80000020 <odd>\n"
                    "80000020 <odd>:\n"
                    "80000020:\t0100006f          \tjal\tra,80000010 <even>\n"),
              HasSubstr("recursion: _start > even > odd > even"));
}

TEST(StackDepth, IndirectCallsAndJumpsAreErrors) {
  EXPECT_THAT(Error("80000000 <_start>:\n80000000:\t000780e7          \tjalr\ta5\n"),
              HasSubstr("_start: an indirect call or jump"));
  EXPECT_THAT(Error("80000000 <_start>:\n80000000:\t00078067          \tjr\ta5\n"),
              HasSubstr("_start: an indirect call or jump"));
}

TEST(StackDepth, FramesOfNoFixedSizeAreErrors) {
  EXPECT_THAT(Error("80000000 <_start>:\n80000000:\t40f10133          \tadd\tsp,sp,a5\n"),
              HasSubstr("no fixed size"));
  EXPECT_THAT(Error("80000000 <_start>:\n80000000:\t40f10133          \tsub\tsp,sp,a5\n"),
              HasSubstr("no fixed size"));
}

TEST(StackDepth, ACallOutOfTheListingIsAnError) {
  EXPECT_THAT(Error("80000000 <_start>:\n80000000:\t0100006f          \tjal\tra,80000010 <gone>\n"),
              HasSubstr("no function gone"));
}

}  // namespace
}  // namespace spyre::firmware::stack_depth_test
