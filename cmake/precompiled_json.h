// SPDX-License-Identifier: Apache-2.0
// precompiled.h for the folders that include JSON.
#include <nlohmann/json.hpp>

#include "precompiled.h"
