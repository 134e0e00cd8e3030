// SPDX-License-Identifier: Apache-2.0
// A module for tests/unit/base/module_test.cc.
#include "base/error.h"

extern "C" __attribute__((visibility("default"))) void spyre_test_module_fail() {
  throw spyre::DeviceFault("the module of this test fails");
}
