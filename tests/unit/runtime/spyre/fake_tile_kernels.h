// SPDX-License-Identifier: Apache-2.0
// Kernels of several shapes for the fake card, as a KernelSet: out = a + addend, in the bits of
// each element and in every lane of every stick. Their binaries say shape and addend, so that one
// imitation runs them all, wherever they are loaded.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "runtime/spyre/kernel_set.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::test {

struct TileKernelImitation {
  struct Header {
    int64_t rows, cols, addend;
  };
  int launches = 0;                  // of kernels with an addend
  std::vector<uint16_t> last_input;  // rows * sticks * 64 lanes that the last of them has read
  std::vector<std::array<int64_t, 2>> shapes;  // of all computes, in order

  void InstallOn(FakeCard& card) {
    card.on_compute = [this, &card](const FakeCard::Executed& operation) {
      Run(card, operation.block.program_base, operation.block.device_address);
      return Status::OK;
    };
  }

 private:
  void Run(FakeCard& card, uint64_t base, uint64_t address) {
    std::array<CorrectionRecord, 2>& records = records_[base];
    if (address == kCorrectionOffset) {
      card.ReadMemory(base + kCorrectionInputOffset, records.data(), sizeof(records));
      return;
    }
    Header header{};
    card.ReadMemory(base, &header, sizeof(header));
    shapes.push_back({header.rows, header.cols});
    if (header.addend != 0) {
      ++launches;
      last_input.clear();
    }
    std::array<uint16_t, 64> lanes{};
    for (int64_t stick = 0; stick < (header.cols + 63) / 64; ++stick) {
      for (int64_t row = 0; row < header.rows; ++row) {
        card.ReadMemory(AddressOf(records[0], row, stick), lanes.data(), sizeof(lanes));
        if (header.addend != 0) last_input.insert(last_input.end(), lanes.begin(), lanes.end());
        for (uint16_t& lane : lanes) lane = static_cast<uint16_t>(lane + header.addend);
        card.WriteMemory(AddressOf(records[1], row, stick), lanes.data(), sizeof(lanes));
      }
    }
  }
  static uint64_t AddressOf(const CorrectionRecord& record, int64_t row, int64_t stick) {
    const uint64_t start =
        record.kind == 0 ? record.offset : SegmentAddress(record.region, record.offset);
    return start + static_cast<uint64_t>(row) * record.stride[0] +
           static_cast<uint64_t>(stick) * record.stride[1];
  }

  std::map<uint64_t, std::array<CorrectionRecord, 2>> records_;  // by program
};

// SpyreCode of such a kernel, compiled for [rows, cols].
inline void WriteTileKernel(const std::filesystem::path& directory, int64_t rows, int64_t cols,
                            int64_t addend) {
  std::filesystem::create_directories(directory);
  WriteCopyKernel(directory, CopyKernelJson(rows, cols));
  const TileKernelImitation::Header header{rows, cols, addend};
  std::string binary(512, '\x5A');
  std::memcpy(binary.data(), &header, sizeof(header));
  WriteFile(directory / "init_binary.bin", binary);
}

// The kernel for tiles of `tile` with what it needs for tensors of `size`, both [rows, cols].
inline void WriteTileKernels(const std::filesystem::path& directory,
                             const std::array<int64_t, 2>& tile,
                             const std::array<int64_t, 2>& size) {
  WriteTileKernel(directory, tile[0], tile[1], 1);
  for (const int64_t rows : {tile[0], size[0] % tile[0]}) {
    for (const int64_t cols : {tile[1], size[1] % tile[1]}) {
      if (rows == 0 || cols == 0 || (rows == tile[0] && cols == tile[1])) continue;
      const std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
      WriteTileKernel(directory / ("remainder_" + shape), rows, cols, 1);
      WriteTileKernel(directory / ("copy_" + shape), rows, cols, 0);
    }
  }
}

}  // namespace spyre::test
