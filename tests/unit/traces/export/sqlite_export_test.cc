// SPDX-License-Identifier: Apache-2.0
#include "traces/export/sqlite_export.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/run_results.h"

namespace spyre::trace::sqlite_export_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The rows that a query gives: columns with | between.
std::vector<std::string> Ask(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  std::vector<std::string> rows;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  const auto take = [](void* to, int columns, char** values, char** /*names*/) {
    std::string row;
    for (int i = 0; i < columns; ++i)
      row += (i == 0 ? "" : "|") + std::string(values[i] ? values[i] : "NULL");
    static_cast<std::vector<std::string>*>(to)->push_back(row);
    return 0;
  };
  char* problem = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &rows, &problem), SQLITE_OK) << problem;
  sqlite3_free(problem);
  sqlite3_close(database);
  return rows;
}

class SqliteExportTest : public ::testing::Test {
 protected:
  std::string Export(const Trace& trace) {
    const std::string path = directory_.path() + "/trace.sqlite";
    ExportSqlite(trace, path);
    return path;
  }
  ScratchDirectory directory_{"sqlite_export"};
};

TEST_F(SqliteExportTest, KernelsAreNumberedAsInTheSummaryAndKnowWhatBoundThem) {
  Trace trace = SampleTrace();
  RunResults results;
  results.kernels[8][static_cast<size_t>(Cause::kRing)] = 3000;
  results.macs[8] = 77;
  trace.results = EncodeRunResults(results);
  const std::string path = Export(trace);
  EXPECT_THAT(Ask(path,
                  "SELECT number, name, start_ns, time_ns, macs, bound_by FROM kernels "
                  "ORDER BY number"),
              ElementsAre("0|COMPUTE mm|2.5|2.0|0|none", "1|COMPUTE mm|3.0|3.0|77|ring"));
  EXPECT_THAT(Ask(path, "SELECT cause, resource, time_ns FROM kernel_causes WHERE kernel = 1"),
              ElementsAre("ring|ring|3.0"));
}

TEST_F(SqliteExportTest, EverySliceIsARowWithItsTrack) {
  const std::string path = Export(SampleTrace());
  EXPECT_THAT(Ask(path, "SELECT COUNT(*) FROM slices"), ElementsAre("11"));
  EXPECT_THAT(Ask(path,
                  "SELECT track, name, start_ns, time_ns, bytes, flow FROM timeline WHERE "
                  "category = 'dma' ORDER BY start_ns"),
              ElementsAre("card/dma in|burst|0.0|1.2|2048|7", "card/dma in|burst|1.0|1.0|2048|7"));
}

TEST_F(SqliteExportTest, UnitsCountOverlappingSlicesOnce) {
  const std::string path = Export(SampleTrace());
  EXPECT_THAT(Ask(path,
                  "SELECT name, busy_ns, slices, bytes, busy_share FROM units WHERE name = "
                  "'card/dma in'"),
              ElementsAre("card/dma in|2.0|2|4096|1.0"));
}

TEST_F(SqliteExportTest, WaitsNameTheUnitThatEndedThem) {
  Recorder recorder;
  RecordKernel(recorder);
  const std::string path = Export(Snapshot(recorder));
  EXPECT_THAT(Ask(path, "SELECT ended_by, time_ns FROM waits WHERE track = 'core 01/vector'"),
              ElementsAre(::testing::StartsWith("core 01/load|")));
}

TEST_F(SqliteExportTest, CountersAreRowsWithUnits) {
  const std::string path = Export(SampleTrace());
  EXPECT_THAT(Ask(path, "SELECT unit, MAX(value) FROM counters WHERE name = 'pt'"),
              ElementsAre("%|100.0"));
}

TEST_F(SqliteExportTest, AFileThatWasThereIsReplacedWhole) {
  const std::string path = Export(SampleTrace());
  Export(SampleTrace());
  EXPECT_THAT(Ask(path, "SELECT COUNT(*) FROM slices"), ElementsAre("11"));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST_F(SqliteExportTest, APathThatCannotBeWrittenIsNamed) {
  try {
    ExportSqlite(SampleTrace(), directory_.path() + "/no/such/x.sqlite");
    FAIL();
  } catch (const spyre::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such/x.sqlite"));
  }
}

}  // namespace
}  // namespace spyre::trace::sqlite_export_test
