// SPDX-License-Identifier: Apache-2.0
// What tests include beside what the product does. A convenience of the build alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <tuple>

#include "cmake/precompiled.h"
