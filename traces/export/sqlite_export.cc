// SPDX-License-Identifier: Apache-2.0
#include "traces/export/sqlite_export.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/input_guard.h"
#include "traces/critical_path.h"
#include "traces/export/counters.h"
#include "traces/run_results.h"
#include "traces/summary.h"

namespace spyre::trace {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE tracks (id INTEGER PRIMARY KEY, process TEXT, name TEXT);
CREATE TABLE slices (id INTEGER PRIMARY KEY, start_ns REAL, end_ns REAL, track INTEGER,
                     name TEXT, category TEXT, flow INTEGER, bytes INTEGER, detail INTEGER);
CREATE TABLE kernel_runs (number INTEGER PRIMARY KEY, name TEXT, flow INTEGER, start_ns REAL,
                          end_ns REAL, macs INTEGER, bound_by TEXT);
CREATE TABLE kernel_causes (kernel INTEGER, cause TEXT, resource TEXT, time_ns REAL);
CREATE TABLE unit_times (name TEXT PRIMARY KEY, busy_ns REAL, slices INTEGER, bytes INTEGER,
                         first_ns REAL, last_ns REAL);
CREATE TABLE counters (name TEXT, unit TEXT, time_ns REAL, value REAL);
)sql";

constexpr const char* kViews = R"sql(
CREATE INDEX slices_by_track ON slices (track, start_ns);
CREATE INDEX slices_by_flow ON slices (flow);
CREATE INDEX counters_by_name ON counters (name, time_ns);
CREATE VIEW timeline AS
  SELECT s.id, t.process || '/' || t.name AS track, t.process, t.name AS unit, s.name, s.category,
         s.start_ns, s.end_ns, round(s.end_ns - s.start_ns, 3) AS time_ns, s.flow, s.bytes, s.detail
  FROM slices s JOIN tracks t ON t.id = s.track;
CREATE VIEW kernels AS
  SELECT number, name, flow, start_ns, end_ns, round(end_ns - start_ns, 3) AS time_ns, macs, bound_by
  FROM kernel_runs;
CREATE VIEW units AS
  SELECT name, busy_ns, slices, bytes, first_ns, last_ns,
         CASE WHEN last_ns > first_ns THEN busy_ns / (last_ns - first_ns) ELSE 0 END AS busy_share
  FROM unit_times;
CREATE VIEW waits AS
  SELECT w.track, w.name, w.start_ns, w.time_ns, w.flow, g.process || '/' || g.name AS ended_by
  FROM timeline w LEFT JOIN tracks g ON g.id = w.detail WHERE w.category = 'wait';
CREATE VIEW steps AS
  SELECT name, detail AS iteration, start_ns, time_ns, flow, bytes FROM timeline
  WHERE category = 'step';
)sql";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open(path_.c_str(), &opened);
    database_.reset(opened);
    if (status != SQLITE_OK) Fail();
  }

  void Run(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
  }

  // One row after the other of the same table.
  class Rows {
   public:
    Rows(Database& database, const char* sql) : database_(database) {
      sqlite3_stmt* prepared = nullptr;
      if (sqlite3_prepare_v2(database.database_.get(), sql, -1, &prepared, nullptr) != SQLITE_OK)
        database.Fail();
      statement_.reset(prepared);
    }
    template <typename... Values>
    void Add(const Values&... values) {
      int at = 0;
      (Bind(++at, values), ...);
      if (sqlite3_step(statement_.get()) != SQLITE_DONE) database_.Fail();
      sqlite3_reset(statement_.get());
    }

   private:
    // What is larger than SQLite's integers can only be a number of a forged file.
    void Bind(int at, uint64_t value) {
      sqlite3_bind_int64(statement_.get(), at, static_cast<sqlite3_int64>(value));
    }
    void Bind(int at, double value) { sqlite3_bind_double(statement_.get(), at, value); }
    void Bind(int at, const std::string& text) {
      sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()),
                        SQLITE_TRANSIENT);
    }

    Database& database_;
    std::unique_ptr<sqlite3_stmt, EndStatement> statement_;
  };

 private:
  [[noreturn]] void Fail() const {
    throw BadInput("{}: cannot write the database: {}", path_, sqlite3_errmsg(database_.get()));
  }

  const std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

double NsOf(uint64_t ps) { return static_cast<double>(ps) / 1e3; }

void WriteSlices(const Trace& trace, Database& database) {
  Database::Rows tracks(database, "INSERT INTO tracks VALUES (?, ?, ?)");
  for (size_t id = 0; id < trace.tracks.size(); ++id)
    tracks.Add(uint64_t{id}, trace.tracks[id].process, trace.tracks[id].name);
  Database::Rows slices(database, "INSERT INTO slices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  std::vector<std::string> categories;
  for (uint64_t id = 0; id < trace.records.size(); ++id) {
    const Record& record = trace.records[id];
    slices.Add(id, NsOf(record.start_ps), NsOf(record.end_ps), uint64_t{record.track},
               trace.names[record.name],
               std::string(CategoryName(static_cast<Category>(record.category))), record.flow,
               record.bytes, uint64_t{record.detail});
  }
}

void WriteKernels(const Trace& trace, Database& database) {
  const RunResults results = ParseRunResults(trace.results);
  Database::Rows runs(database, "INSERT INTO kernel_runs VALUES (?, ?, ?, ?, ?, ?, ?)");
  Database::Rows causes(database, "INSERT INTO kernel_causes VALUES (?, ?, ?, ?)");
  for (const KernelRun& kernel : Kernels(trace)) {
    const auto path = results.kernels.find(kernel.flow);
    const auto macs = results.macs.find(kernel.flow);
    runs.Add(uint64_t{kernel.number}, kernel.name, kernel.flow, NsOf(kernel.start_ps),
             NsOf(kernel.end_ps), macs == results.macs.end() ? uint64_t{0} : macs->second,
             path == results.kernels.end() ? std::string("none") : BoundOf(path->second).resource);
    if (path == results.kernels.end()) continue;
    for (size_t i = 0; i < kCauses; ++i) {
      const auto cause = static_cast<Cause>(i);
      if (path->second[i] == 0) continue;
      causes.Add(uint64_t{kernel.number}, std::string(CauseName(cause)),
                 std::string(ResourceName(cause)), NsOf(path->second[i]));
    }
  }
}

void WriteUnits(const Trace& trace, Database& database) {
  Database::Rows units(database, "INSERT INTO unit_times VALUES (?, ?, ?, ?, ?, ?)");
  for (const UnitSummary& unit : Summarize(trace).units) {
    units.Add(unit.name, NsOf(unit.busy_ps), unit.slices, unit.bytes, NsOf(unit.first_ps),
              NsOf(unit.last_ps));
  }
}

void WriteCounters(const Trace& trace, Database& database) {
  Database::Rows rows(database, "INSERT INTO counters VALUES (?, ?, ?, ?)");
  const Counters counters = CountersOf(trace);
  for (const Counter& counter : counters.counters) {
    for (size_t i = 0; i < counter.values.size(); ++i) {
      rows.Add(counter.name, counter.unit, NsOf(counters.from_ps + i * counters.period_ps),
               counter.values[i]);
    }
  }
}

}  // namespace

void ExportSqlite(const Trace& trace, const std::string& path) {
  const OutputClaim claim(path);
  const std::string written = path + ".partial";
  std::error_code ignored;
  std::filesystem::remove(written, ignored);
  try {
    Database database(written);
    // The file has no name yet that anybody would read, so nothing need survive a crash.
    database.Run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    database.Run(kSchema);
    Database::Rows(database, "INSERT INTO meta VALUES ('metadata', ?)").Add(trace.metadata);
    Database::Rows(database, "INSERT INTO meta VALUES ('results', ?)").Add(trace.results);
    Database::Rows(database, "INSERT INTO meta VALUES ('digest', ?)")
        .Add(fmt::format("{:016x}", trace.digest));
    Database::Rows(database, "INSERT INTO meta VALUES ('dropped', ?)")
        .Add(fmt::to_string(trace.dropped));
    WriteSlices(trace, database);
    WriteKernels(trace, database);
    WriteUnits(trace, database);
    WriteCounters(trace, database);
    database.Run(kViews);
    database.Run("COMMIT");
  } catch (...) {
    std::filesystem::remove(written, ignored);
    throw;
  }
  std::error_code error;
  std::filesystem::rename(written, path, error);
  if (error) throw BadInput("{}: cannot write the database: {}", path, error.message());
}

}  // namespace spyre::trace
