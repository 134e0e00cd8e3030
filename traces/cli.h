// `spyre-cosim trace summary | query | diff | export | report`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace spyre::trace {

// args: what follows "trace" on the command line. Results go to out (or to the file that -o names),
// messages to err. Returns the exit status: 0 done, 2 bad usage or a bad file; `diff --exit-code`
// returns 1 when the runs differ.
int RunTraceCommand(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace spyre::trace
