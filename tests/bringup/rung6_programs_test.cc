// Rung 6: programs on the cores, small enough to follow by hand. One promise for each unit and each
// vector function; expected values are computed here from the definition of the number format.
#include <cmath>
#include <functional>

#include "model/contract/formats.h"
#include "model/contract/program.h"
#include "tests/bringup/bringup_fixture.h"

namespace spyre::bringup {
namespace {

constexpr size_t kSticks = 16;
constexpr size_t kElements = kSticks * 64;

class Rung6Programs : public Bringup {
 protected:
  void SetUp() override { runtime_ = Runtime(0); }

  flex::DeviceHandle Upload(const void* data, size_t bytes) {
    const flex::DeviceHandle handle = runtime_->Allocate(bytes);
    runtime_->DefaultStream().CopyToDevice(data, handle, bytes);
    runtime_->DefaultStream().Synchronize();
    return handle;
  }
  template <typename T>
  std::vector<T> Download(const flex::DeviceHandle& handle, size_t count) {
    std::vector<T> data(count);
    runtime_->DefaultStream().CopyFromDevice(data.data(), handle, count * sizeof(T));
    runtime_->DefaultStream().Synchronize();
    return data;
  }
  // Runs `text` with the addresses of `tensors` as its address table.
  flex::CompletedOperation Run(const std::string& text,
                               const std::vector<flex::DeviceHandle>& tensors) {
    Program program = Assemble(text);
    program.address_table.clear();
    for (const auto& tensor : tensors)
      program.address_table.push_back(flex::ToDeviceVirtual(tensor));
    std::vector<uint8_t> image = Encode(program);
    image.resize(AlignUp(image.size(), kStickBytes));
    const auto handle = runtime_->Allocate(image.size(), flex::MemoryKind::kProgram);
    runtime_->DefaultStream().CopyToDevice(image.data(), handle, image.size());
    runtime_->DefaultStream().Launch(handle);
    runtime_->DefaultStream().Synchronize();
    return runtime_->CompletedOperations().back();
  }

  // One core: both inputs (16 sticks each) to LX 0 and 2048, `vector` with r1 = 4096 the result, r2
  // = 0 and r3 = 2048 the inputs, r4 = 1, r5 = 16 rows, r6 = 128 the row stride; then `out_bytes`
  // of LX 4096 to memory.
  template <typename T = uint16_t>
  std::vector<T> Vector(const std::string& vector, const std::vector<uint16_t>& a,
                        const std::vector<uint16_t>& b, size_t count = kElements) {
    const auto source = Upload(a.data(), 2048);
    const auto other = Upload(b.data(), 2048);
    const auto target = runtime_->Allocate(AlignUp(count * sizeof(T), kStickBytes));
    Run(fmt::format(R"(
.program vector
.cores 0x1
.lx 16384
.table 3
.section load 0x1
  tab r1, 0
  tab r2, 1
  li r3, 2048
  li r4, 1
  load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0
  load r3, r2, r3, r4, r0, r0, r4, r0, r0, r0 signal=t1
.section vector 0x1
  li r1, 4096
  li r3, 2048
  li r4, 1
  li r5, 16
  li r6, 128
  li r7, 8192
  li r8, 256
  li r9, 64
  li r10, 4
  nop wait=t1
  {}
  nop signal=t2
.section store 0x1
  tab r1, 2
  li r2, {}
  li r3, 4096
  li r4, 1
  store r3, r1, r2, r4, r0, r0, r4, r0, r0 wait=t2
)",
                    vector, AlignUp(count * sizeof(T), kStickBytes)),
        {source, other, target});
    std::vector<T> out = Download<T>(target, AlignUp(count * sizeof(T), kStickBytes) / sizeof(T));
    out.resize(count);
    return out;
  }

  // Values of every kind: zeros, ones, small, large, both signs, NaN.
  static std::vector<uint16_t> Values(uint32_t seed, bool specials = true) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-6, 6);
    std::vector<uint16_t> values(kElements);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] =
          i % 4 == 0 && specials ? static_cast<uint16_t>(random()) : DlfFromFloat(uniform(random));
    }
    if (specials) values[0] = 0x0000, values[1] = 0x8000, values[2] = 0x7FFF, values[3] = 0xFFFF;
    return values;
  }

  std::unique_ptr<flex::RuntimeContext> runtime_;
};

TEST_F(Rung6Programs, LoadAndStoreMoveBoxesWithTheirStrides) {
  const std::vector<uint8_t> data = RandomBytes(8192, 6);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(8192);
  runtime_->DefaultStream().Fill(target, 8192, 0);
  // 3 planes x 2 rows x 256 bytes; in memory rows are 512 apart and planes 2048, packed in LX.
  Run(R"(
.program boxes
.cores 0x1
.lx 2048
.table 2
.section load 0x1
  tab r1, 0
  li r2, 256
  li r3, 2
  li r4, 512
  li r5, 3
  li r6, 2048
  li r7, 512
  load r0, r1, r2, r3, r4, r2, r5, r6, r7, r0 signal=t1
.section store 0x1
  tab r1, 1
  li r2, 256
  li r3, 2
  li r4, 512
  li r5, 3
  li r6, 2048
  li r7, 512
  store r0, r1, r2, r3, r4, r2, r5, r6, r7 wait=t1
)",
      {source, target});
  const auto out = Download<uint8_t>(target, 8192);
  for (size_t i = 0; i < out.size(); ++i) {
    const bool inside = i < 3 * 2048 && i % 2048 < 1024 && i % 512 < 256;
    ASSERT_EQ(out[i], inside ? data[i] : 0) << "byte " << i;
  }
}

TEST_F(Rung6Programs, EveryCoreReachesMemoryOfItsOwn) {
  std::vector<uint16_t> data(32 * 64);
  std::iota(data.begin(), data.end(), uint16_t{0});
  const auto source = Upload(data.data(), data.size() * 2);
  const auto target = runtime_->Allocate(data.size() * 2);
  std::string text = ".program every_core\n.cores 0xffffffff\n.lx 128\n.table 2\n";
  for (int core = 0; core < 32; ++core) text += fmt::format(".core {}: {}\n", core, core);
  for (const char* unit : {"load", "store"}) {
    text += fmt::format(
        ".section {} 0xffffffff\n  tab r1, {}\n  creg r5, 0\n  madd r1, r1, r5, 128\n"
        "  li r2, 128\n  li r3, 1\n",
        unit, unit == std::string("load") ? 0 : 1);
    text += unit == std::string("load")
                ? "  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1\n"
                : "  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1\n";
  }
  Run(text, {source, target});
  EXPECT_EQ(Download<uint16_t>(target, data.size()), data);
}

TEST_F(Rung6Programs, LoopsCountAndScalarsCompute) {
  // Fills stick i with 3 * i * i + min(i, 4), for i < 10.
  const auto target = runtime_->Allocate(1280);
  Run(R"(
.program loops
.cores 0x1
.lx 1280
.table 1
.section vector 0x1
  li r1, 10
  li r2, 128
  li r3, 1
  li r7, 4
  loop r4, r1
    mul r5, r4, r4, 0
    min r8, r4, r7
    madd r8, r8, r5, 3
    madd r6, r0, r4, 128
    vfill r6, r8, r2, r3, r0
  end
  nop signal=t1
.section store 0x1
  tab r1, 0
  li r2, 1280
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1
)",
      {target});
  const auto out = Download<uint16_t>(target, 640);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t n = i / 64;
    ASSERT_EQ(out[i], 3 * n * n + std::min<size_t>(n, 4)) << "element " << i;
  }
}

struct Binary {
  const char* name;
  std::function<float(float, float)> fn;
};
class Rung6BinaryFunctions : public Rung6Programs, public ::testing::WithParamInterface<Binary> {};
INSTANTIATE_TEST_SUITE_P(
    Fn, Rung6BinaryFunctions,
    ::testing::Values(Binary{"add", [](float a, float b) { return a + b; }},
                      Binary{"sub", [](float a, float b) { return a - b; }},
                      Binary{"mul", [](float a, float b) { return a * b; }},
                      Binary{"div", [](float a, float b) { return a / b; }},
                      Binary{"max", [](float a, float b) { return a >= b ? a : b; }},
                      Binary{"min", [](float a, float b) { return a <= b ? a : b; }}),
    [](const auto& test) { return test.param.name; });

TEST_P(Rung6BinaryFunctions, RoundsTheExactOperationOnce) {
  const auto a = Values(10), b = Values(11);
  const auto out = Vector(
      fmt::format("vbinary.{} r1, r0, r3, r5, r4, r0, r0, r0, r6, r6, r6", GetParam().name), a, b);
  const auto first = Vector(
      fmt::format("vbinary.{}.lane0 r1, r0, r3, r5, r4, r0, r0, r0, r6, r6, r6", GetParam().name),
      a, b);
  for (size_t i = 0; i < kElements; ++i) {
    for (const bool lane0 : {false, true}) {
      const float x = DlfToFloat(a[i]), y = DlfToFloat(b[lane0 ? i / 64 * 64 : i]);
      const bool nan = std::isnan(x) || std::isnan(y);
      ASSERT_EQ((lane0 ? first : out)[i], nan ? kDlfNan : DlfFromFloat(GetParam().fn(x, y)))
          << x << " and " << y << ", element " << i << (lane0 ? " with lane 0" : "");
    }
  }
}

struct Unary {
  const char* name;
  std::function<double(double)> fn;
};
class Rung6UnaryFunctions : public Rung6Programs, public ::testing::WithParamInterface<Unary> {};
INSTANTIATE_TEST_SUITE_P(
    Fn, Rung6UnaryFunctions,
    ::testing::Values(Unary{"neg", [](double x) { return -x; }},
                      Unary{"abs", [](double x) { return std::abs(x); }},
                      Unary{"relu", [](double x) { return x > 0 ? x : 0; }},
                      Unary{"exp", [](double x) { return std::exp(x); }},
                      Unary{"gelu",
                            [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }},
                      Unary{"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
                      Unary{"tanh", [](double x) { return std::tanh(x); }},
                      Unary{"sqrt", [](double x) { return std::sqrt(x); }},
                      Unary{"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                      Unary{"reciprocal", [](double x) { return 1 / x; }}),
    [](const auto& test) { return test.param.name; });

TEST_P(Rung6UnaryFunctions, RoundsTheRealFunctionOnce) {
  const auto a = Values(12, false);
  const auto out =
      Vector(fmt::format("vunary.{} r1, r0, -, r5, r4, r0, r0, -, r6, r6", GetParam().name), a, a);
  for (size_t i = 0; i < kElements; ++i) {
    const double x = DlfToFloat(a[i]);
    ASSERT_EQ(out[i], DlfFromDouble(GetParam().fn(x))) << GetParam().name << " of " << x;
  }
}

TEST_F(Rung6Programs, CopyMovesEveryCodeUnchanged) {
  const auto a = Values(13);
  EXPECT_EQ(Vector("vunary.copy r1, r0, -, r5, r4, r0, r0, -, r6, r6", a, a), a);
}

TEST_F(Rung6Programs, ReductionsAlongLanesAddInOrder) {
  const auto a = Values(14, false);
  const auto sums =
      Vector<float>("vreduce.sum r1, r0, r0, r5, r4, -, r0, -, r10, r6, -, r9", a, a, kSticks);
  const auto largest =
      Vector<float>("vreduce.max r1, r0, r0, r5, r4, -, r0, -, r10, r6, -, r9", a, a, kSticks);
  for (size_t row = 0; row < kSticks; ++row) {
    float sum = 0, most = -INFINITY;
    for (size_t lane = 0; lane < 64; ++lane) {
      sum += DlfToFloat(a[row * 64 + lane]);
      most = std::max(most, DlfToFloat(a[row * 64 + lane]));
    }
    EXPECT_EQ(sums[row], sum) << "row " << row;
    EXPECT_EQ(largest[row], most) << "row " << row;
  }
}

TEST_F(Rung6Programs, ReductionsAlongRowsKeepLanesApartAndRoundAtTheEnd) {
  const auto a = Values(15, false);
  const auto out = Vector(
      "vreducerows.sum r7, r0, r0, r5, r4, r0, r0, -, -, r6\n"
      "  vround r1, r7, r5, r4, r4, r0, r0, -, r6, r8",
      a, a, 64);
  for (size_t lane = 0; lane < 64; ++lane) {
    float sum = 0;
    for (size_t row = 0; row < kSticks; ++row) sum += DlfToFloat(a[row * 64 + lane]);
    EXPECT_EQ(out[lane], DlfFromFloat(sum / 16)) << "mean of lane " << lane;
  }
}

TEST_F(Rung6Programs, AReductionOverNothingGivesItsIdentity) {
  const auto a = Values(16);
  const std::vector<float> none(kSticks, -INFINITY);
  EXPECT_EQ(
      Vector<float>("vreduce.max r1, r0, r0, r5, r0, -, r0, -, r10, r6, -, r9", a, a, kSticks),
      none)
      << "no planes";
  EXPECT_EQ(Vector<float>("vreducerows.max r1, r0, r0, r0, r4, r0, r0, -, -, r6", a, a, kSticks),
            none)
      << "no rows";
  EXPECT_NE(FailureOf([&] {
              Vector("li r11, 10000\n  vreducerows.max r1, r0, r0, r0, r11, r8, r0, -, -, r6", a,
                     a);
            }).find("LX_OVERFLOW"),
            std::string::npos)
      << "results have to fit all the same";
}

TEST_F(Rung6Programs, ACoreMaySendToItself) {
  const std::vector<uint8_t> data = RandomBytes(1024, 9);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(1024);
  Run(R"(
.program self
.cores 0x1
.lx 4096
.table 2
.section load 0x1
  tab r1, 0
  li r2, 1024
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r2, 512
  li r3, 1024
  li r4, 7
  send r0, r2, r0, r3, r4 wait=t1
.section store 0x1
  tab r1, 1
  li r2, 1024
  li r3, 1
  li r4, 512
  store r4, r1, r2, r3, r0, r0, r3, r0, r0 wait=t7
)",
      {source, target});
  EXPECT_EQ(Download<uint8_t>(target, 1024), data);
}

TEST_F(Rung6Programs, AMatmulIsExactOnIntegersAndAddsToWhatIsThere) {
  constexpr size_t kM = 5, kK = 100, kN = 128;
  std::mt19937 random(3);
  const auto small = [&] { return DlfFromFloat(static_cast<float>(random() % 9) - 4); };
  std::vector<uint16_t> a(2 * kM * 64), b(2 * kK * 64);  // sticks of k x rows, sticks of n x k
  for (uint16_t& value : a) value = small();
  for (uint16_t& value : b) value = small();
  const auto a_handle = Upload(a.data(), a.size() * 2);
  const auto b_handle = Upload(b.data(), b.size() * 2);
  const auto out_handle = runtime_->Allocate(2 * kM * 256);
  const auto done = Run(R"(
.program matmul
.cores 0x1
.lx 65536
.table 3
.section load 0x1
  tab r1, 0
  tab r2, 1
  li r3, 1280
  li r4, 1
  li r5, 25600
  li r6, 4096
  load r0, r1, r3, r4, r0, r0, r4, r0, r0, r0
  load r6, r2, r5, r4, r0, r0, r4, r0, r0, r0 signal=t1
.section pt 0x1
  li r1, 32768
  li r3, 4096
  li r4, 5
  li r5, 128
  li r6, 100
  li r7, 640
  li r8, 12800
  li r9, 1280
  li r10, 1
  matmul r1, r0, r3, r4, r5, r6, r7, r8, r9, r0 wait=t1
  matmul r1, r0, r3, r4, r5, r6, r7, r8, r9, r10 signal=t2
.section store 0x1
  tab r1, 2
  li r2, 2560
  li r3, 32768
  li r4, 1
  store r3, r1, r2, r4, r0, r0, r4, r0, r0 wait=t2
)",
                        {a_handle, b_handle, out_handle});
  EXPECT_EQ(done.macs, 2 * kM * kK * kN);
  const auto out = Download<float>(out_handle, 2 * kM * 64);
  for (size_t i = 0; i < kM; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (size_t k = 0; k < kK; ++k) {
        sum += DlfToFloat(a[(k / 64 * kM + i) * 64 + k % 64]) *
               DlfToFloat(b[(j / 64 * kK + k) * 64 + j % 64]);
      }
      ASSERT_EQ(out[(j / 64 * kM + i) * 64 + j % 64], 2 * sum) << i << ", " << j;
    }
  }
}

TEST_F(Rung6Programs, AMessageCrossesTheWholeRing) {
  const std::vector<uint8_t> data = RandomBytes(1024, 8);
  const auto source = Upload(data.data(), data.size());
  const auto target = runtime_->Allocate(1024);
  Run(R"(
.program send
.cores 0x80000001
.lx 4096
.table 2
.section load 0x1
  tab r1, 0
  li r2, 1024
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r1, 31
  li r2, 2048
  li r3, 1024
  li r4, 7
  send r1, r2, r0, r3, r4 wait=t1
.section store 0x80000000
  tab r1, 1
  li r2, 1024
  li r3, 1
  li r4, 2048
  store r4, r1, r2, r3, r0, r0, r3, r0, r0 wait=t7
)",
      {source, target});
  EXPECT_EQ(Download<uint8_t>(target, 1024), data);
}

TEST_F(Rung6Programs, MoreResultsThanLxHoldsAreIllegalAndNotEndlessWork) {
  // 2^20 x 2^20 sticks with strides of 0: more work than LX can hold results.
  EXPECT_NE(FailureOf([&] {
              Vector("li r11, 1048576\n  vunary.neg r1, r0, -, r11, r11, r0, r0, -, r0, r0",
                     Values(1), Values(1));
            }).find("ILLEGAL_INSTRUCTION"),
            std::string::npos);
}

}  // namespace
}  // namespace spyre::bringup
