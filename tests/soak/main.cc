// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>

#include "base/command_line/help.h"
#include "base/command_line/parse.h"
#include "base/terminal.h"
#include "cosim/verdict/failure.h"
#include "tests/soak/soak_command.h"

int main(int argc, char** argv) {
  using spyre::command_line::Request;
  try {
    spyre::command_line::Command root(
        "spyre-soak",
        "Use a card for hours of simulated time, and look for what grows, drifts or is lost");
    spyre::cosim::DeclareSoak(root, std::cout);
    const Request request = Parse(root, {argv + 1, argv + argc});
    if (request.kind == Request::Kind::kRun) return root.action()();
    std::cout << Help(root, {});
    return spyre::cosim::kDone;
  } catch (const std::exception&) {
    const spyre::cosim::Failure failure = spyre::cosim::CurrentFailure();
    std::cerr << "spyre-soak: " << failure.Line() << std::endl;
    return failure.status;
  }
}
