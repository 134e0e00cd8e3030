// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/nearest.h"
#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "tests/paths.h"
#include "tests/unit/model/contract/program_generator.h"
#include "tests/unit/random_cases.h"

namespace spyre::assembler_test {
namespace {

using ::testing::HasSubstr;

std::string AssembleError(const std::string& text) {
  try {
    Assemble(text, "k.s");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Assembler, TextOfAProgramAssemblesToTheSameBytes) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Program program = RandomProgram(random);
    const std::string text = Disassemble(program);
    const Program assembled = Assemble(text);
    ExpectSame(program, assembled);
    EXPECT_TRUE(Encode(assembled) == Encode(program)) << text;
    EXPECT_EQ(Disassemble(assembled), text) << "a fixed point";
  });
}

TEST(Assembler, ReadsEveryDirectiveAndSpelling) {
  const Program program = Assemble(R"(
; a comment line
.program two: words, with commas ; and a comment
.lx 0x1000
.flags timing_only
.next 4096
.cores 0x3
.table 9
.entry 8 0xFFFFFFFFFFFFFFFF
.core 1: 5 -6 0x10
.section vector 3
  tab r1,8
  loop r2 , r1
    vbinary.sub.lane0 r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11 wait=t3 signal=t63
    vunary.exp r1, r2, -, r4, r5, r6, r7, r0, r9, r10 signal=t1 wait=t2
    vround.lane0 r1, r2, r3, r4, r5, r6, r7, -, r9, r10
  end
.section pt 0x1
  li r63, -9223372036854775808
)");
  EXPECT_EQ(program.name, "two: words, with commas");
  EXPECT_EQ(program.lx_bytes, 4096u);
  EXPECT_TRUE(program.timing_only);
  EXPECT_EQ(program.next, 4096u);
  EXPECT_EQ(program.core_mask, 3u);
  ASSERT_EQ(program.address_table.size(), 9u);
  EXPECT_EQ(program.address_table[8], UINT64_MAX);
  ASSERT_EQ(program.core_registers.size(), 32u);
  EXPECT_THAT(program.core_registers[1], ::testing::ElementsAre(5, -6, 16, 0, 0, 0, 0, 0));
  ASSERT_EQ(program.sections.size(), 2u);
  const std::vector<Instruction>& code = program.sections[0].code;
  ASSERT_EQ(code.size(), 6u);
  EXPECT_EQ(code[0].imm, 8);
  EXPECT_EQ(code[2].fn, static_cast<uint8_t>(BinaryFn::kSub) | kBroadcastLane0);
  EXPECT_EQ(code[2].wait, 3);
  EXPECT_EQ(code[2].signal, 63);
  EXPECT_EQ(code[2].reg[10], 11);
  EXPECT_EQ(code[3].fn, static_cast<uint8_t>(UnaryFn::kExp));
  EXPECT_EQ(code[3].wait, 2);
  EXPECT_EQ(code[4].fn, kRoundLane0);
  EXPECT_EQ(program.sections[1].code[0].imm, INT64_MIN);
}

TEST(Assembler, ErrorsNameFileLineTokenAndWhatWouldBeRight) {
  const std::string head = ".cores 1\n.section load 1\n";
  const std::vector<std::pair<std::string, const char*>> cases = {
      {head + "maddd r1, r2, r3, 4", "k.s:3: 'maddd': not an instruction; did you mean 'madd'?"},
      {head + "vbinry.add r1", "did you mean 'vbinary.add'?"},
      {head + "vunary r1", "'vunary' is written vunary.abs, "},
      {head + "vreduce.mux r1", "vreduce.max"},
      {".corse 1", "k.s:1: '.corse': not a directive; did you mean '.cores'?"},
      {".cores 1\n.section vectr 1", "k.s:2: 'vectr': not a unit; units are load, store, pt"},
      {head + "li r1", "k.s:3: 'r1': 'li' has 2 operands, with commas between: rd, number"},
      {head + "min r1 r2, r3", "k.s:3: 'r2': 'min' has 3 operands"},
      {head + "min r1, r2, r3, r4", "k.s:3: ',': expected wait=tN"},
      {head + "li x1, 2", "'x1': operand rd of 'li' is a register, r0..r63"},
      {head + "li r64, 2", "'64': register number must be 0..63"},
      {head + "li r1, 12q", "'12q': expected a number"},
      {head + "li r1, 0x", "'0x': expected a number"},
      {head + "li r1, 9223372036854775808", "number must be -9223372036854775808.."},
      {head + "li r1, 99999999999999999999", "does not fit in 64 bits"},
      {head + "creg r1, -1", "core registers are 0.."},
      {head + "creg r1, 8", "k.s:3: '8': a core has 8 core registers; '.core_width N'"},
      {".core_width 0", "1..1024"},
      {".core_width 1025", "registers of a core must be 0..1024"},
      {".core 0: 1\n.core_width 9", "k.s:2: '.core_width': comes before the first '.core'"},
      {".core_width 2\n.core 0: 1 2 3", "'3': a core has 2 registers"},
      {head + "mark r1, 0", "'mark' runs on the ring unit, not on load"},
      {".cores 1\n.table 3\n.section load 1\nnop\ntab r1, 3",
       "k.s:5: '3': the address table has 3 entries"},
      {head + "tab r1, -1", "reads address-table entry -1"},
      {head + "matmul r1, r2, r3, r4, r5, r6, r7, r8, r9, r10",
       "k.s:3: 'matmul': 'matmul' runs on the pt unit, not on load"},
      {head + "nop wait=3", "a token is t1..t63"},
      {head + "nop wait=t0", "tokens are t1..t63"},
      {head + "nop wait=t64", "token number must be 0..63"},
      {head + "nop wait=t1 wait=t2", "'wait' given twice"},
      {head + "nop signl=t1", "'signl=t1': expected wait=tN, signal=tN"},
      {head + "end", "k.s:3: 'end': has no 'loop' before it"},
      {head + "nop\nloop r1, r2\nnop\n.section store 1", "k.s:4: 'loop': has no 'end'"},
      {head + "loop r1, r2", "k.s:3: 'loop': has no 'end'"},
      {".cores 1\nnop", "k.s:2: 'nop': needs '.section UNIT MASK' before it"},
      {".cores 1\n.cores 1", "k.s:2: '.cores': given twice"},
      {".cores", "expected '.cores MASK'"},
      {".cores 1 2", "'2': unexpected after '.cores MASK'"},
      {".cores 0x100000000", "a core mask must be 0..4294967295"},
      {".lx 2097152", "LX bytes must be 0..2031616"},
      {".flags fast", "'fast': the flags are timing_only and generated_loops"},
      {".cores 1\n.next 64", "the next program is 64 bytes behind the start of this one"},
      {".cores 1\n.next 4000", "in whole sticks"},
      {".table 999999999", "number of address-table entries must be 0.."},
      {".entry 0 1", "needs '.table N' before it"},
      {".table 2\n.entry 2 1", "address-table entry must be 0..1"},
      {".core 32: 1", "core must be 0..31"},
      {".core 0 1", "expected '.core C: v0 v1 ...'"},
      {".core 0: 1 2 3 4 5 6 7 8 9", "'9': a core has 8 registers"},
      {".program", "expected '.program NAME'"},
      {".program " + std::string(32, 'n'), "at most 31 bytes"},
      {"", "k.s: no '.cores MASK'"},
      {".cores 1\n.section pt 2", "k.s: section 0 (pt): core mask 0x00000002"},
      {std::string(200, 'x'), "not an instruction"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(AssembleError(text), HasSubstr(message)) << text;
  }
}

TEST(Assembler, CoreRegistersAreEightUnlessTheWidthIsGiven) {
  const std::string section = ".cores 1\n.section ring 1\ncreg r1, 9\nmark r1, 1048575\n";
  const Program wide = Assemble(".core_width 12\n.core 3: 1 2\n" + section);
  ASSERT_EQ(wide.core_registers.size(), 32u);
  EXPECT_THAT(wide.core_registers[3], ::testing::ElementsAre(1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(wide.sections[0].code[1].imm, 1048575);
  EXPECT_EQ(Encode(Assemble(Disassemble(wide))), Encode(wide));
  EXPECT_THAT(AssembleError(section), HasSubstr("a core has 8 core registers"));
  // The width may follow the use.
  EXPECT_EQ(Assemble(section + ".core_width 10\n").core_register_width(), 10u);
}

TEST(Assembler, FlagsOfAFunctionHaveTheirOrderAndTheirBits) {
  const auto fn = [](const std::string& mnemonic, const char* operands) {
    return Assemble(".cores 1\n.section vector 1\n" + mnemonic + operands).sections[0].code[0].fn;
  };
  const char* binary = " r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11";
  const char* unary = " r1, r2, -, r4, r5, r6, r7, -, r9, r10";
  const char* round = " r1, r2, r3, r4, r5, r6, r7, -, r9, r10";
  EXPECT_EQ(fn("vbinary.normscale.fp32.a_lane0.lane0", binary), 0xEF);
  EXPECT_EQ(fn("vbinary.select.a_lane0", binary), 0x4E);
  EXPECT_EQ(fn("vunary.floor.fp32.a_lane0", unary), 0x70);
  EXPECT_EQ(fn("vround.fp32.scale.lane1", round), 0x26);
  EXPECT_EQ(fn("vround.scale.lane0", round), 0x05);
  EXPECT_EQ(fn("vreduce.absmax.fp32", " r1, r2, r3, r4, r5, -, r7, -, r9, r10, -, r12"), 0x24);
  const std::string head = ".cores 1\n.section vector 1\n";
  EXPECT_THAT(AssembleError(head + "vround.lane0.lane1" + round),
              HasSubstr("'vround' is written vround, "));
  EXPECT_THAT(AssembleError(head + "vaccumulate.sum.fp32 r1, r2, r3, r4"),
              HasSubstr("'vaccumulate' is written vaccumulate.absmax"));
  EXPECT_THAT(AssembleError(head + "vunary.copy.lane0" + unary), HasSubstr("'vunary' is written"));
}

TEST(Assembler, LoopsNestEightDeepAndNoDeeper) {
  std::string text = ".cores 1\n.section ring 1\n";
  for (int i = 0; i < 8; ++i) text += "loop r1, r2\n";
  std::string ends;
  for (int i = 0; i < 8; ++i) ends += "end\n";
  EXPECT_EQ(Assemble(text + ends).sections[0].code.size(), 16u);
  EXPECT_THAT(AssembleError(text + "loop r1, r2\nend\n" + ends),
              HasSubstr("k.s:11: 'loop': loops nest at most 8 deep"));
}

TEST(Assembler, ArbitraryTextIsAnErrorOrAProgramAndNeverACrash) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::string text;
    for (int i = test::Draw(random, 0, 100); i > 0; --i) {
      text += test::DrawOf(
          random, {".cores 1", ".section", "vector", "1",  "\n",    " ",    ",",           ":",
                   "li",       "r1",       "-",      "0x", "wait=", "t1",   "loop r1, r2", "end",
                   ".core 0:", ".table 3", ".entry", "\t", ";",     "\r\n", "\xff"});
    }
    try {
      Encode(Assemble(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << text;
    }
  });
}

std::string FormatDocument() {
  std::ifstream stream(std::string(SPYRE_SOURCE_DIR) + "/docs/program-format.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(FormatDocument, NamesEveryInstructionWithItsOperandsAndFunctions) {
  const std::string document = FormatDocument();
  for (const OpInfo& info : OpTable()) {
    std::string form = fmt::format("`{}{}{}", info.mnemonic, info.operands.empty() ? "" : " ",
                                   fmt::join(info.operands, ", "));
    form += info.has_immediate ? ", number`" : "`";
    EXPECT_THAT(document, HasSubstr(form));
    const std::string functions = fmt::format("{}", fmt::join(FnNames(info.fn_set), " "));
    EXPECT_THAT(document, HasSubstr(functions)) << info.mnemonic;
  }
}

TEST(FormatDocument, ItsExampleAssembles) {
  const std::string document = FormatDocument();
  const size_t begin = document.find("```asm\n");
  const size_t end = document.find("```", begin + 3);
  ASSERT_LT(begin, end);
  const Program program = Assemble(document.substr(begin + 7, end - begin - 7), "example");
  EXPECT_EQ(program.name, "negate");
  EXPECT_EQ(program.sections.size(), 3u);
  EXPECT_EQ(Encode(Assemble(Disassemble(program))), Encode(program));
}

TEST(Nearest, FindsTheWordThatWasMeantAndGivesUpOnNonsense) {
  const std::vector<std::string> words = {"load", "loop", "store"};
  EXPECT_EQ(EditDistance("load", "laod"), 1);  // a swap is one mistake
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(Nearest("lop", words), "loop");
  EXPECT_EQ(Nearest("sotre", words), "store");
  EXPECT_EQ(Nearest("xxxxxx", words), "");
  EXPECT_EQ(DidYouMean("laod", words), "; did you mean 'load'?");
  EXPECT_EQ(DidYouMean("zzzzzz", words), "");
}

}  // namespace
}  // namespace spyre::assembler_test
