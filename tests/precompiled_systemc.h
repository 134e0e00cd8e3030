// SPDX-License-Identifier: Apache-2.0
// precompiled.h for tests of which many include SystemC.
#pragma once

#include "cmake/precompiled_systemc.h"
#include "tests/precompiled.h"
