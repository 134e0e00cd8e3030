// SPDX-License-Identifier: Apache-2.0
// What tests include beside what the product does. A convenience of the build alone.
#pragma once

#include <atomic>
#include <random>
#include <thread>
#include <tuple>

#include "cmake/precompiled.h"
#include "tests/assertions.h"
#include "tests/registration.h"
