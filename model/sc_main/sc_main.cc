// SPDX-License-Identifier: Apache-2.0
// The SystemC library refers to sc_main. Programs that have a main of their own and call sc_start
// themselves link this; a testbench with its own sc_main does not need it, and is not disturbed by
// it: this is an archive member that is taken only if nothing else defines the symbol.
#include <systemc>

int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }
