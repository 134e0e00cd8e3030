// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/input_guard.h"
#include "base/json_text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// Names of columns are keys with dots in them.
std::string Quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) {
      const Error error = Failure();
      sqlite3_close(handle_);
      throw error;
    }
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void Run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) throw Failure();
  }
  Error Failure() const {
    return BadInput("{}: SQLite cannot write it: {}", path_, sqlite3_errmsg(handle_));
  }
  sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// INSERT of one row after the other.
class Insertion {
 public:
  Insertion(Database& database, const std::string& table, size_t columns) : database_(database) {
    std::string sql = "INSERT INTO " + table + " VALUES (";
    for (size_t i = 0; i < columns; ++i) sql += i == 0 ? "?" : ", ?";
    sql += ")";
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
      throw database.Failure();
  }
  ~Insertion() { sqlite3_finalize(statement_); }
  Insertion(const Insertion&) = delete;
  Insertion& operator=(const Insertion&) = delete;

  Insertion& Add(const Json& value) {
    ++column_;
    if (value.is_boolean()) {
      Check(sqlite3_bind_int64(statement_, column_, value.get<bool>() ? 1 : 0));
    } else if (value.is_number_integer()) {
      Check(sqlite3_bind_int64(statement_, column_, value.get<int64_t>()));
    } else if (value.is_number()) {
      Check(sqlite3_bind_double(statement_, column_, value.get<double>()));
    } else if (!value.is_null()) {  // what is not bound is NULL
      const std::string text = value.is_string() ? value.get<std::string>() : DumpJson(value);
      Check(sqlite3_bind_text(statement_, column_, text.data(), static_cast<int>(text.size()),
                              SQLITE_TRANSIENT));
    }
    return *this;
  }

  void End() {
    if (sqlite3_step(statement_) != SQLITE_DONE) throw database_.Failure();
    Check(sqlite3_reset(statement_));
    Check(sqlite3_clear_bindings(statement_));
    column_ = 0;
  }

 private:
  void Check(int result) const {
    if (result != SQLITE_OK) throw database_.Failure();
  }

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
};

std::string ObjectivesText(const SweepResults& results) {
  std::string text;
  for (const Objective& objective : results.objectives)
    text += (text.empty() ? "" : ", ") + objective.name;
  return text;
}

void WritePoints(Database& database, const SweepResults& results) {
  std::string sql = "CREATE TABLE points (point INTEGER PRIMARY KEY";
  for (const std::string& key : results.keys) sql += ", " + Quoted(key);
  sql += ", status TEXT NOT NULL, reason TEXT NOT NULL";
  for (const Figure& figure : NumberFigures()) sql += fmt::format(", {} NUMERIC", figure.name);
  for (const Figure& figure : TextFigures()) sql += fmt::format(", {} TEXT", figure.name);
  database.Run(sql + ", pareto INTEGER NOT NULL)");
  const size_t columns = 4 + results.keys.size() + NumberFigures().size() + TextFigures().size();
  Insertion insertion(database, "points", columns);
  for (const SweepRow& row : results.rows) {
    insertion.Add(row.point);
    for (const Json& value : row.values) insertion.Add(value);
    const Json result = ToJson(row.result);
    insertion.Add(result["status"]).Add(result["reason"]);
    for (const Figure& figure : NumberFigures()) insertion.Add(result.value(figure.name, Json()));
    for (const Figure& figure : TextFigures()) insertion.Add(result.value(figure.name, Json()));
    insertion.Add(row.on_front);
    insertion.End();
  }
  database.Run("CREATE VIEW done AS SELECT * FROM points WHERE status = 'done'");
}

void WriteFigures(Database& database) {
  database.Run(
      "CREATE TABLE figures (name TEXT PRIMARY KEY, unit TEXT NOT NULL, description TEXT NOT NULL, "
      "more_is_better INTEGER NOT NULL)");
  Insertion insertion(database, "figures", 4);
  for (const auto& figures : {NumberFigures(), TextFigures()}) {
    for (const Figure& figure : figures) {
      insertion.Add(figure.name).Add(figure.unit).Add(figure.description);
      insertion.Add(figure.more_is_better).End();
    }
  }
}

void WriteSweep(Database& database, const SweepResults& results) {
  database.Run("CREATE TABLE sweep (name TEXT PRIMARY KEY, value NOT NULL)");
  Insertion insertion(database, "sweep", 2);
  insertion.Add("name").Add(results.name).End();
  insertion.Add("config").Add(results.config).End();
  insertion.Add("digest").Add(results.digest).End();
  insertion.Add("points").Add(results.points).End();
  insertion.Add("objectives").Add(ObjectivesText(results)).End();
}

}  // namespace

void WriteSqlite(const std::string& path, const SweepResults& results) {
  namespace fs = std::filesystem;
  const OutputClaim claim(path);
  const std::string draft = path + ".part";
  std::error_code error;
  fs::remove(draft, error);
  try {
    Database database(draft);
    database.Run("PRAGMA journal_mode = OFF; BEGIN");  // a draft needs no way back
    WritePoints(database, results);
    WriteFigures(database);
    WriteSweep(database, results);
    database.Run("COMMIT");
  } catch (...) {
    fs::remove(draft, error);
    throw;
  }
  fs::rename(draft, path, error);
  if (error) throw BadInput("{}: cannot be written: {}", path, error.message());
}

}  // namespace spyre::cosim
