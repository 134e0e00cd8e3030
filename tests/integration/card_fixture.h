// SPDX-License-Identifier: Apache-2.0
// A simulated card with its driver and runtime, for tests that need the whole column. One per test
// case: SystemC has one kernel per process.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/physical_function.h"
#include "model/contract/program.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::test {

class CardFixture : public ::testing::Test {
 protected:
  // Opens the PF, or with vfs > 0 gives each VF eight equal regions and opens VF 1.
  void Open(unsigned vfs = 0, const flex::RuntimeOptions& options = {}) {
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    if (vfs > 0) {
      admin_ = std::make_unique<driver::Device>(*transport_, 0);
      driver::PhysicalFunction physical(*admin_);
      physical.EnableVirtualFunctions(static_cast<int>(vfs));
      for (unsigned vf = 1; vf <= vfs; ++vf) {
        for (int region = 0; region < kRegions; ++region) {
          physical.AssignRegion(
              static_cast<driver::FunctionId>(vf), region,
              ((vf - 1) * kRegions + static_cast<uint64_t>(region)) * kRegionBytes, kRegionBytes);
        }
      }
    }
    context_ = std::make_unique<flex::RuntimeContext>(
        *transport_, static_cast<driver::FunctionId>(vfs > 0 ? 1 : 0), options);
  }

  // Puts the image of `program` into a program allocation of its own and returns where.
  flex::DeviceHandle Load(const Program& program) {
    std::vector<uint8_t> image = Encode(program);
    image.resize(AlignUp(image.size(), kStickBytes));
    const flex::DeviceHandle handle = context_->Allocate(image.size(), flex::MemoryKind::kProgram);
    context_->DefaultStream().CopyToDevice(image.data(), handle, image.size());
    context_->DefaultStream().Synchronize();
    return handle;
  }

  // Assembles `text` with address-table entry i being the device virtual address of tensors[i], and
  // runs it.
  flex::CompletedOperation Run(const std::string& text,
                               const std::vector<flex::DeviceHandle>& tensors) {
    Program program = Assemble(text);
    program.address_table.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      program.address_table[i] = flex::ToDeviceVirtual(tensors[i]);
    context_->DefaultStream().Launch(Load(program));
    context_->DefaultStream().Synchronize();
    return context_->CompletedOperations().back();
  }

  template <typename T>
  flex::DeviceHandle Upload(const std::vector<T>& data) {
    const flex::DeviceHandle handle = context_->Allocate(data.size() * sizeof(T));
    context_->DefaultStream().CopyToDevice(data.data(), handle, data.size() * sizeof(T));
    return handle;
  }
  template <typename T>
  std::vector<T> Download(const flex::DeviceHandle& handle, size_t count) {
    std::vector<T> data(count);
    context_->DefaultStream().CopyFromDevice(data.data(), handle, count * sizeof(T));
    context_->DefaultStream().Synchronize();
    return data;
  }
  // Runs `action` and returns the message of the Error it must throw.
  template <typename Action>
  static std::string FailureOf(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  static constexpr uint64_t kRegionBytes = 4ull << 30;
  model::CardConfig config_;
  std::optional<trace::Recorder> recorder_{std::in_place};
  std::unique_ptr<cosim::InProcessTransport> transport_;
  std::unique_ptr<driver::Device> admin_;
  std::unique_ptr<flex::RuntimeContext> context_;
};

}  // namespace spyre::test
