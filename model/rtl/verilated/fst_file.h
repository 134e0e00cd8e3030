// SPDX-License-Identifier: Apache-2.0
// An FST file of a Verilated model's signals; its context must have traceEverOn(true).
#pragma once

#include <verilated_fst_c.h>

#include <memory>
#include <string>

#include "model/rtl/waves.h"

namespace spyre::model {

class FstFile final : public WaveFile {
 public:
  template <class Model>
  FstFile(Model& model, const std::string& path) {
    model.trace(&fst_, 99);
    fst_.set_time_unit("1ps");
    fst_.set_time_resolution("1ps");
    fst_.open(path.c_str());
  }
  void Dump(uint64_t ps) override { fst_.dump(ps); }

 private:
  VerilatedFstC fst_;
};

template <class Model>
void AttachWaves(Waves& waves, Model& model) {
  waves.Attach(
      [&model](const std::string& path) { return std::make_unique<FstFile>(model, path); });
}

}  // namespace spyre::model
