// SPDX-License-Identifier: Apache-2.0
// Lines of elements and what the steps of an OpFunc make of them, bit for bit and without rounding.
// Part of the reference of bundles; reads what an OpFunc computes from
// runtime/compiler/ops/op_funcs.h and takes every function from reference_functions.h. Any thread.
// Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/contract/formats.h"
#include "runtime/compiler/ops/op_funcs.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::cosim {

struct Line {
  DataFormat format = DataFormat::kSen169Fp16;
  std::vector<uint32_t> bits;
  std::vector<double> ideal;  // empty: not followed

  Line() = default;
  Line(DataFormat line_format, size_t length, bool with_ideal)
      : format(line_format), bits(length), ideal(with_ideal ? length : 0) {}
};

// The constants of an OpFunc as the SuperDSC gives them, in order of OpFunc::constants.
std::vector<double> ConstantsOf(const compiler::OpFunc& op, const compiler::SuperDsc& dsc,
                                const std::string& step);

// The steps of one OpFunc on lines of one length. Not thread safe: one for each thread.
class LineSteps {
 public:
  LineSteps(const compiler::OpFunc& op, const std::vector<double>& constants, DataFormat result,
            size_t length, bool with_ideal);

  // Inputs that are absent are left out at the end. Valid until the next call.
  const Line& Run(const std::vector<Line>& inputs);

 private:
  const Line& ValueOf(const compiler::OpFuncValue& value, const std::vector<Line>& inputs) const;

  const compiler::OpFunc& op_;
  std::vector<Line> constants_;
  std::vector<Line> steps_;
  Line copied_;
};

}  // namespace spyre::cosim
