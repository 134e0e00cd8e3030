// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_checks.h"

namespace spyre::cosim {
namespace {

uint64_t Sum(const ProgramChecks& checks, uint64_t KernelCheck::*number) {
  uint64_t sum = 0;
  for (const auto& [name, check] : checks.kernels) sum += check.*number;
  return sum;
}

}  // namespace

uint64_t ProgramChecks::launches() const { return Sum(*this, &KernelCheck::launches); }
uint64_t ProgramChecks::compared() const { return Sum(*this, &KernelCheck::compared); }
uint64_t ProgramChecks::wrong() const { return Sum(*this, &KernelCheck::wrong); }

}  // namespace spyre::cosim
