// SPDX-License-Identifier: Apache-2.0
// spec_gen SPEC.toml OUTDIR: writes every form of the register contract. Files that would not
// change are left alone, so that nothing that includes them is rebuilt.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "model/contract/generator/writers.h"

namespace {

void WriteIfChanged(const std::filesystem::path& path, const std::string& text) {
  std::ifstream old(path, std::ios::binary);
  if (old) {
    std::stringstream content;
    content << old.rdbuf();
    if (content.str() == text) return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw spyre::BadInput("{}: cannot be written", path.string());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: spec_gen SPEC.toml OUTDIR\n");
    return 1;
  }
  try {
    using namespace spyre::generator;
    const Spec spec = ReadSpec(argv[1]);
    const std::filesystem::path out = argv[2];
    std::filesystem::create_directories(out);
    WriteIfChanged(out / "registers.h", WriteCppHeader(spec));
    WriteIfChanged(out / "register_access.h", WriteDriverAccess(spec));
    WriteIfChanged(out / "spyre_registers.h", WriteFirmwareHeader(spec));
    WriteIfChanged(out / "spyre_pkg.sv", WriteSystemVerilog(spec));
    WriteIfChanged(out / "registers.md", WriteMarkdown(spec));
    WriteIfChanged(out / "contract.py", WritePython(spec));
  } catch (const std::exception& error) {
    fmt::print(stderr, "spec_gen: {}\n", error.what());
    return 1;
  }
  return 0;
}
