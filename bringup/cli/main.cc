// SPDX-License-Identifier: Apache-2.0
#include "bringup/cli/program.h"

int main(int argc, char** argv) { return spyre::bringup::Main(argc, argv); }
