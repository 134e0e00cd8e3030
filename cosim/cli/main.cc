// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/cli.h"

int main(int argc, char** argv) { return spyre::cosim::RunCommandLine(argc, argv); }
