// SPDX-License-Identifier: Apache-2.0
// Every test opens a card of this process, of which there is one: ctest runs each in its own.
#include "sdk/card/open.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/json_text.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/error_of.h"

namespace spyre::sdk::open_test {
namespace {

using test::BadInputOf;
using ::testing::HasSubstr;

std::string OutOf(const char* test) {
  return (std::filesystem::temp_directory_path() /
          fmt::format("spyre_sdk_open_{}_{}", test, getpid()))
      .string();
}

std::vector<uint8_t> RoundTrip(flex::RuntimeContext& context, size_t bytes) {
  std::vector<uint8_t> sent(bytes), back(bytes);
  for (size_t i = 0; i < bytes; ++i) sent[i] = static_cast<uint8_t>(i * 7 + i / 251);
  const flex::DeviceHandle memory = context.Allocate(bytes);
  context.DefaultStream().CopyToDevice(sent.data(), memory, bytes);
  context.DefaultStream().CopyFromDevice(back.data(), memory, bytes);
  context.Synchronize();
  EXPECT_EQ(sent, back);
  return back;
}

TEST(OpenCard, TheModuleGivesATransportAndWritesTheReportOfWhatWasDone) {
  CardRequest request;
  request.out = OutOf("report");
  request.program = "python model.py";
  const std::unique_ptr<ProgramCard> card = OpenCard(request);
  {
    flex::RuntimeContext context(card->transport(), card->function(), card->options());
    EXPECT_FALSE(context.is_physical());  // the default of the key `mode`
    RoundTrip(context, 4096);
    card->Finish(context);
  }
  const nlohmann::json report = SortedJsonOf(ReadFile(request.out + "/report.json", "report"));
  EXPECT_EQ(report.at("operations").at("failed"), 0);
  EXPECT_GT(report.at("sim_time_ns").get<double>(), 0);
  EXPECT_EQ(report.at("verdict").at("failed_operations"), 0);
  EXPECT_EQ(report.at("copies").at("bytes_to_card"), 4096);
  EXPECT_EQ(report.at("copies").at("bytes_from_card"), 4096);
  EXPECT_TRUE(std::filesystem::exists(request.out + "/trace.sctrace"));
  std::ifstream text(request.out + "/summary.txt");
  const std::string summary((std::istreambuf_iterator<char>(text)), {});
  EXPECT_THAT(summary, HasSubstr("python model.py on card 'spyre', VF mode, 32 cores"));
  EXPECT_THAT(summary, HasSubstr("copies: 2, 4.00 KiB to the card and 4.00 KiB from it"));
  std::filesystem::remove_all(request.out);
}

TEST(OpenCard, ThePhysicalFunctionCanBeAskedFor) {
  CardRequest request;
  request.function = "pf";
  request.sets = {"card.cores=4"};
  const std::unique_ptr<ProgramCard> card = OpenCard(request);
  flex::RuntimeContext context(card->transport(), card->function(), card->options());
  EXPECT_TRUE(context.is_physical());
  EXPECT_EQ(context.identity().cores, 4);
  RoundTrip(context, 128);
  card->Finish(context);
}

TEST(OpenCard, AConfigurationThatIsWrongIsRefusedWithItsKey) {
  CardRequest request;
  request.sets = {"card.coers=4"};
  EXPECT_THAT(BadInputOf([&] { OpenCard(request); }), HasSubstr("coers"));
}

TEST(OpenCard, PlacesThatAreNoneAreRefused) {
  CardRequest request;
  request.where = "usb:1";
  EXPECT_THAT(BadInputOf([&] { OpenCard(request); }), HasSubstr("SPYRE_COSIM_CARD = 'usb:1'"));
  request.where = "vfio-user:/nowhere";
  EXPECT_THAT(BadInputOf([&] { OpenCard(request); }), HasSubstr("/nowhere"));
  request.out = "report";
  EXPECT_THAT(BadInputOf([&] { OpenCard(request); }), HasSubstr("SPYRE_COSIM_OUT = report"));
}

}  // namespace
}  // namespace spyre::sdk::open_test
