#include "cosim/cli.h"

int main(int argc, char** argv) { return spyre::cosim::RunCommandLine(argc, argv); }
