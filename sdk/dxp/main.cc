// SPDX-License-Identifier: Apache-2.0
// dxp_standalone -d DIR: compiles the bundle in DIR (bundle.mlir, sdsc_*.json) into
// DIR/spyreCodeDir. PyTorch starts one for each kernel; what is refused goes to standard error,
// which its user sees, and to the exit status: 2 for a bundle that is refused, 4 for a defect of
// this program.
#include <exception>
#include <iostream>
#include <string>

#include "base/error.h"
#include "sdk/dxp/compile.h"

namespace {

constexpr int kRefused = 2;
constexpr int kDefect = 4;
constexpr const char* kUsage = "usage: dxp_standalone -d DIR\n";

int Fail(int status, const std::string& message) {
  std::cerr << "dxp_standalone: " << message << std::endl;
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "-h" || option == "--help") {
    std::cout << kUsage << "Compiles the bundle in DIR into DIR/spyreCodeDir.\n";
    return 0;
  }
  if (argc != 3 || option != "-d") {
    std::cerr << kUsage;
    return kRefused;
  }
  try {
    spyre::sdk::CompileBundleDirectory(argv[2]);
    return 0;
  } catch (const spyre::Error& error) {
    return Fail(error.kind() == spyre::ErrorKind::kInternal ? kDefect : kRefused, error.what());
  } catch (const std::exception& error) {
    return Fail(kDefect, error.what());
  }
}
