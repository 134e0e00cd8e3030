// SPDX-License-Identifier: Apache-2.0
// The database is read by Python's own module, which is not the library's code that wrote it.
#include "cosim/sweep/sqlite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "base/files.h"
#include "tests/unit/cosim/sweep/example_results.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::sqlite_file_test {
namespace {

using ::testing::HasSubstr;

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 4096> buffer;
  for (size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
    output.append(buffer.data(), count);
  return output;
}

TEST(SqliteFile, AnotherClientReadsWhatWasWritten) {
  const ScratchDirectory scratch("sqlite_test");
  const std::string path = scratch.path() + "/results.sqlite";
  SweepResults results = test::ExampleResults();
  MarkFront(results);
  WriteSqlite(path, results);
  WriteSqlite(path, results);  // over the one that is there
  WriteFile(
      scratch.path() + "/read.py",
      "import sqlite3, sys\n"
      "db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n"
      "q = lambda sql: print(db.execute(sql).fetchall())\n"
      "q('select point, \"card.cores\", \"workload.op\", status, reason, launch_ns, bound_by, "
      "pareto from points order by point')\n"
      "q('select count(*), min(launch_ns) from done')\n"
      "q(\"select unit from figures where name = 'launch_ns'\")\n"
      "q(\"select value from sweep where name = 'objectives'\")\n"
      "q('pragma integrity_check')\n",
      "script");
  EXPECT_EQ(OutputOf("/usr/bin/python3 " + scratch.path() + "/read.py " + path),
            "[(0, 4, 'add', 'done', '', 100, 'memory', 1), "
            "(1, 8, 'add', 'done', '', 90, 'memory', 1), "
            "(2, 8, 'mul', 'done', '', 95, 'memory', 0), "
            "(3, 16, 'a \"b\", c', 'infeasible', 'no, it cannot', None, None, 0)]\n"
            "[(3, 90)]\n"
            "[('ns',)]\n"
            "[('launch_ns, card.cores',)]\n"
            "[('ok',)]\n");
}

TEST(SqliteFile, APlaceThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(test::BadInputOf([] { WriteSqlite("/nowhere/r.sqlite", test::ExampleResults()); }),
              HasSubstr("/nowhere/r.sqlite.part: SQLite cannot write it"));
}

}  // namespace
}  // namespace spyre::cosim::sqlite_file_test
