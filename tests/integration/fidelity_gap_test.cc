// SPDX-License-Identifier: Apache-2.0
// How far the closed form (card.fidelity = "fast") is from the timed model: on the public points of
// the repository, and on random operations. docs/accuracy.md has the table for 300 of them, which
// SPYRE_UPDATE_DOCS=1 writes; SPYRE_FIDELITY_POINTS=300 judges as many
// without writing.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "base/json_text.h"
#include "tests/integration/accuracy_page.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::test::fidelity_gap_test {
namespace {

using nlohmann::json;

constexpr const char* kDocument = SPYRE_SOURCE_DIR "/docs/accuracy.md";
constexpr const char* kBegin = "<!-- random operations -->\n";
constexpr const char* kEnd = "<!-- /random operations -->\n";

json RowPoint(const char* op, uint64_t rows, uint64_t cols, uint64_t cores) {
  return {{"op", op}, {"rows", rows}, {"cols", cols}, {"cores", cores}, {"predicted_us", 1}};
}
json SoftmaxPoint(uint64_t rows, uint64_t cols, uint64_t cores) {
  return RowPoint("softmax", rows, cols, cores);
}
json SoftmaxRecord(uint64_t rows, uint64_t cols, uint64_t cores) {
  return {{"what", "kernel time"}, {"op", "softmax(x,dim=-1), one fused kernel"},
          {"shape", {rows, cols}}, {"division", nullptr},
          {"cores", cores},        {"value", 1},
          {"unit", "us"},          {"source", 0}};
}

// A product of several matrices. The batch is outermost in the memory of the card where it is the
// second dimension on the host, and innermost where it is the first, as in PyTorch's default. The
// second operand may lie transposed.
struct BatchedProduct {
  uint64_t batch, m, k, n, cores;
  bool a_outermost, b_outermost, b_transposed, out_outermost;

  json Case() const {
    const auto dims = [](bool outermost, const char* first, const char* second) {
      return outermost ? json{first, "B", second} : json{"B", first, second};
    };
    return {
        {"dims", {{"B", batch}, {"M", m}, {"K", k}, {"N", n}}},
        {"tensors",
         {{{"name", "a"}, {"dims", dims(a_outermost, "M", "K")}},
          {{"name", "b"},
           {"dims", dims(b_outermost, b_transposed ? "N" : "K", b_transposed ? "K" : "N")}}}},
        {"ops",
         {{{"op", "matmul"},
           {"inputs", {"a", "b"}},
           {"dim", "K"},
           {"dims", dims(out_outermost, "M", "N")},
           {"output", "y"}}}},
        {"set",
         {{"workload.cores", cores}, {"workload.functional", false}, {"trace.enabled", false}}}};
  }
  std::string Kernel() const {
    return fmt::format("{} matmuls {}x{}x{}, {} core{}", batch, m, k, n, cores,
                       cores == 1 ? "" : "s");
  }
};

// Operations of sizes like those that were measured, in whole sticks, each of these kinds as often
// as another but for matmul, of which there are twice as many.
class RandomOperations {
 public:
  explicit RandomOperations(int count) {
    while (count > 0) count -= Add(count);
  }
  json points = json::array();  // of a calibration file
  // Of measured times: softmax as a list, as the closed compiler makes it. Each of them is among
  // the points too, as an operation of its own.
  json records = json::array();
  std::vector<BatchedProduct> products;

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  // From 64, by ratios.
  uint64_t Size(double most) {
    const double u = static_cast<double>(random_() >> 11) / 9007199254740992.0;
    return 64 * std::max<uint64_t>(1, static_cast<uint64_t>(std::pow(most / 64, u)));
  }
  // How many were added, of at most so many.
  int Add(int most) {
    static constexpr std::array<std::array<const char*, 6>, 3> kOps = {
        {{"neg", "abs", "gelu", "exp", "silu", "relu"},
         {"add", "mul", "maximum", "sub", "div", "minimum"},
         {"sum", "amax", "mean", "amin", "sum", "mean"}}};
    const uint64_t cores = uint64_t{1} << Below(6);
    const uint64_t kind = Below(8);
    if (kind >= 6) return AddProduct(cores);
    if (kind >= 4) {
      const uint64_t m = Size(4096), k = Size(8192), n = Size(4096);
      const double macs = static_cast<double>(m * k) * static_cast<double>(n);
      if (macs < 0x1p24 || macs > 0x1p31) return 0;
      points.push_back(
          {{"op", "matmul"}, {"m", m}, {"k", k}, {"n", n}, {"cores", cores}, {"predicted_us", 1}});
      return 1;
    }
    const uint64_t rows = Size(8192), cols = Size(8192);
    if (rows * cols < (1 << 18) || rows * cols > (1 << 22)) return 0;
    const bool softmax = kind == 3;
    points.push_back(softmax ? SoftmaxPoint(rows, cols, cores)
                             : RowPoint(kOps[kind][Below(6)], rows, cols, cores));
    if (softmax && most > 1) {
      records.push_back(SoftmaxRecord(rows, cols, cores));
      return 2;
    }
    return 1;
  }

  int AddProduct(uint64_t cores) {
    const uint64_t batch = 1 + Below(16), m = Size(1536), k = Size(1536), n = Size(1536);
    const bool a = Below(3) == 0, b = Below(3) == 0, transposed = Below(3) == 0,
               out = Below(3) == 0;
    const double macs = static_cast<double>(batch * m) * static_cast<double>(k * n);
    // Each stick may be a request of its own, which takes time to simulate.
    const uint64_t sticks = batch * (m * k + k * n + m * n) / 64;
    if (macs < 0x1p24 || sticks > 60000) return 0;
    products.push_back({batch, m, k, n, cores, a, b, transposed, out});
    return 1;
  }

  std::mt19937_64 random_{31};
};

struct Gap {
  size_t points = 0;
  double sum = 0, squares = 0, worst = 0;
  std::string farthest;
  double rms() const { return std::sqrt(squares / static_cast<double>(points)); }
  void Add(double error, const std::string& kernel) {
    ++points;
    sum += error;
    squares += error * error;
    if (std::abs(error) < std::abs(worst)) return;
    worst = error;
    farthest = kernel;
  }
  std::string Row(const std::string& name) const {
    return fmt::format("| {} | {} | {:.1f} % | {:+.1f} % | {} {:+.1f} % |\n", name, points,
                       rms() * 100, sum / static_cast<double>(points) * 100, farthest, worst * 100);
  }
};

std::string KernelOf(const json& point) {
  std::string text = point["op"].get<std::string>();
  const auto number = [&](const char* key) { return point[key].get<uint64_t>(); };
  if (point.contains("m")) {
    text += fmt::format(" {}x{}x{}", number("m"), number("k"), number("n"));
  } else {
    text += fmt::format(" {}x{}", number("rows"), number("cols"));
  }
  return text + fmt::format(", {} core{}", number("cores"), number("cores") == 1 ? "" : "s");
}

class FidelityGapTest : public ProgramFixture {
 protected:
  // By family, matmuls on few cores and on many together; "all" is of all points.
  std::map<std::string, Gap> GapsOf(const std::string& files) {
    const Outcome outcome =
        Call("calibrate " + files + " --json --both --jobs 1 --set card.fidelity=fast");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::map<std::string, Gap> gaps;
    if (outcome.status != 0) return gaps;
    const json result = SortedJsonOf(outcome.out);
    for (const json& point : result["points"]) {
      std::string family = point["family"];
      if (family.rfind("matmul", 0) == 0)
        family = point["cores"].get<int>() <= 4 ? "matmul, 1 to 4 cores" : "matmul, 8 to 32 cores";
      if (family == "softmax" && point["file"] == "records.json") family = "softmax as a list";
      for (const std::string& name : {family, std::string("all")})
        gaps[name].Add(point["fast_error"], KernelOf(point));
    }
    return gaps;
  }

  // Of products, by whether all of their tensors have the batch outermost.
  void AddGapsOf(const std::vector<BatchedProduct>& products, std::map<std::string, Gap>& gaps) {
    std::string cases;
    for (const BatchedProduct& product : products) cases += product.Case().dump() + "\n";
    Write("products.jsonl", cases);
    std::vector<std::vector<double>> ns;
    for (const char* fidelity : {"fast", "timed"}) {
      const Outcome outcome = Call(fmt::format(
          "run --cases products.jsonl --jobs 1 --out out --set card.fidelity={}", fidelity));
      ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
      std::vector<double>& times = ns.emplace_back();
      std::istringstream lines(outcome.out);
      for (std::string line; std::getline(lines, line);)
        times.push_back(SortedJsonOf(line)["device_ns"]);
      ASSERT_EQ(times.size(), products.size());
    }
    for (size_t i = 0; i < products.size(); ++i) {
      const BatchedProduct& product = products[i];
      const bool outermost = product.batch == 1 ||
                             (product.a_outermost && product.b_outermost && product.out_outermost);
      const char* const family = outermost ? "matmuls, batch outermost" : "matmuls, batch inside";
      for (const std::string& name : {std::string(family), std::string("all")})
        gaps[name].Add(ns[0][i] / ns[1][i] - 1, product.Kernel());
    }
  }
};

// The page has both times of every one of them.
TEST(FidelityGap, OnPublicPointsIsWithin8Percent) {
  const auto timed = AccuracyTable("--times out/timed.json --markdown", "Kernel");
  const auto fast = AccuracyTable("--set card.fidelity=fast --markdown", "Kernel");
  ASSERT_EQ(timed.size(), 120u);
  ASSERT_EQ(fast.size(), timed.size());
  constexpr size_t kKernel = 0, kCores = 1, kSimulated = 3;  // columns
  Gap gap;
  for (size_t i = 0; i < timed.size(); ++i) {
    ASSERT_EQ(fast[i].at(kKernel), timed[i].at(kKernel));
    ASSERT_EQ(fast[i].at(kCores), timed[i].at(kCores));
    gap.Add(std::stod(fast[i].at(kSimulated)) / std::stod(timed[i].at(kSimulated)) - 1,
            timed[i].at(kKernel));
  }
  EXPECT_LT(gap.rms(), 0.08) << gap.Row("all");
}

// A softmax is one kernel, or the steps of a list: where its rows stay in LX, both do the same work
// in the same order, in either fidelity. Measured kernels of the card are that softmax.
TEST_F(FidelityGapTest, ASoftmaxTakesWhatTheListOfItsOperationsTakes) {
  struct Case {
    uint64_t rows, cols, cores;
  };
  json points = json::array(), records = json::array();
  for (const auto& [rows, cols, cores] : std::vector<Case>{{2048, 512, 16},
                                                           {2048, 512, 32},
                                                           {4096, 2048, 32},
                                                           {1024, 2048, 16},
                                                           {16384, 128, 32},
                                                           {4096, 1024, 8}}) {
    points.push_back(SoftmaxPoint(rows, cols, cores));
    records.push_back(SoftmaxRecord(rows, cols, cores));
  }
  Write("points.json", json({{"points", points}}).dump());
  Write("records.json", json({{"sources", {"by hand"}}, {"records", records}}).dump());
  const Outcome outcome =
      Call("calibrate points.json records.json --json --both --jobs 1 --set card.fidelity=fast");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out)["points"];
  ASSERT_EQ(result.size(), 2 * points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const json &one = result[i], &list = result[points.size() + i];
    for (const char* time : {"simulated_us", "timed_us"}) {
      const double ratio = one[time].get<double>() / list[time].get<double>();
      EXPECT_NEAR(ratio, 1, 0.08) << KernelOf(one) << " " << time;
    }
  }
}

// The memory stop, of one core as of many, and whatever the division.
TEST_F(FidelityGapTest, BothNameWhatBoundsAProductWhoseBatchIsInside) {
  for (const auto& [workload, resource] :
       {std::pair("batch = 8\nm = 512\nk = 512\nn = 128", "ring"),
        std::pair("batch = 4\nm = 256\nk = 256\nn = 256\ncores = 1", "ring"),
        std::pair("batch = 4\nm = 512\nk = 512\nn = 1024\nsplit = { m = 4, n = 8 }", "ring")}) {
    Write("run.toml", std::string("[workload]\nop = \"batchmatmul\"\nfunctional = false\n") +
                          workload + "\n[trace]\nenabled = false\n");
    std::vector<double> gains;
    for (const char* fidelity : {"fast", "timed"}) {
      const Outcome outcome =
          Call(std::string("what-if run.toml --resources --json --jobs 1 --set card.fidelity=") +
               fidelity);
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      const json answer = SortedJsonOf(outcome.out);
      EXPECT_EQ(answer["bound_by"], resource) << fidelity << " " << workload;
      gains.push_back(answer["resources"][0]["change"]);
    }
    EXPECT_NEAR(gains[0], gains[1], 0.08) << workload;
  }
}

// Wider than the table says: a part of the points has other errors than all of them.
TEST_F(FidelityGapTest, OnRandomOperationsEachFamilyIsAsNearAsTheDocumentSays) {
  const bool writes = std::getenv("SPYRE_UPDATE_DOCS") != nullptr;
  const char* const asked = std::getenv("SPYRE_FIDELITY_POINTS");
  const int count = writes ? 300 : asked != nullptr ? std::atoi(asked) : 48;
  const RandomOperations operations(count);
  Write("points.json", json({{"points", operations.points}}).dump());
  Write("records.json", json({{"sources", {"random"}}, {"records", operations.records}}).dump());
  auto gaps = GapsOf("points.json records.json");
  AddGapsOf(operations.products, gaps);
  // Of all of them 8 % is promised; a part of the points has other errors.
  const std::map<std::string, double> bounds = {{"all", 0.08},
                                                {"binary", 0.12},
                                                {"matmul, 1 to 4 cores", 0.06},
                                                {"matmul, 8 to 32 cores", 0.15},
                                                {"matmuls, batch inside", 0.1},
                                                {"matmuls, batch outermost", 0.2},
                                                {"reduction", 0.09},
                                                {"softmax", 0.12},
                                                {"softmax as a list", 0.09},
                                                {"unary", 0.09}};
  std::string table =
      "| Family | Operations | RMS | Mean | Farthest off |\n|---|--:|--:|--:|---|\n";
  for (const auto& [family, bound] : bounds) {
    const auto gap = gaps.find(family);
    ASSERT_NE(gap, gaps.end()) << family;
    EXPECT_LT(gap->second.rms(), bound) << gap->second.Row(family);
    if (family != "all") table += gap->second.Row(family);
  }
  table += gaps.at("all").Row("all");
  EXPECT_EQ(gaps.at("all").points, static_cast<size_t>(count));

  std::ifstream in(kDocument);
  std::string document{std::istreambuf_iterator<char>(in), {}};
  const size_t begin = document.find(kBegin), end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t at = begin + std::string(kBegin).size();
  if (writes) {
    std::ofstream(kDocument) << document.replace(at, end - at, table);
  } else if (count == 300) {
    EXPECT_EQ(document.substr(at, end - at), table) << "SPYRE_UPDATE_DOCS=1 writes it";
  }
}

}  // namespace
}  // namespace spyre::test::fidelity_gap_test
