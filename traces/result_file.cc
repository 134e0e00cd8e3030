// SPDX-License-Identifier: Apache-2.0
#include "traces/result_file.h"

#include <filesystem>

#include "base/files.h"

namespace spyre::trace {

std::string ResultPath(const std::string& wanted, const std::string& input, const char* extension) {
  return wanted.empty() ? std::filesystem::path(input).replace_extension(extension).string()
                        : wanted;
}

void WriteResult(const std::string& path, std::ostream& out,
                 const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    write(out);
    return;
  }
  OutputFile file(path, "result");
  write(file.stream());
  file.Commit();
  out << path << '\n';
}

}  // namespace spyre::trace
