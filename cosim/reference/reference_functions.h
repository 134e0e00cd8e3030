// SPDX-License-Identifier: Apache-2.0
// The scalar functions of the reference, by name. Pure; any thread.
#pragma once

#include <cmath>
#include <string>

namespace spyre::cosim {

using UnaryFunction = long double (*)(long double);
using BinaryFunction = double (*)(double, double);

// nullptr for an unknown name.
UnaryFunction FindUnary(const std::string& name);
// The function on real numbers. Of two float values, rounding its double result to float is the
// correctly rounded float operation.
BinaryFunction FindBinary(const std::string& name);

}  // namespace spyre::cosim
