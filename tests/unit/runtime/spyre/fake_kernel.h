// SPDX-License-Identifier: Apache-2.0
// A kernel for the fake card: a SpyreCode directory whose binaries the card does not run but
// imitate. The correction remembers the records that its program was given; the compute copies the
// rows of argument 0 to argument 1 with the strides of those records. So wrong addresses, strides
// or programs show up as wrong data.
#pragma once

#include <contract/registers.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "model/contract/program.h"
#include "model/contract/stick_layout.h"
#include "tests/unit/driver/fake_card.h"

namespace spyre::test {

// A directory that disappears with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spyre_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void WriteFile(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

inline constexpr uint64_t kComputeOffset = 0;
inline constexpr uint64_t kCorrectionOffset = 256;
inline constexpr uint64_t kCorrectionInputOffset = 512;
inline constexpr uint64_t kProgramAllocation = 1024;

inline std::string SegmentPointer(uint64_t offset) { return std::to_string(kProgramBase + offset); }

inline nlohmann::json ArgumentJson(const std::string& name, const std::string& role,
                                   const std::vector<int64_t>& shape,
                                   const std::vector<std::string>& dims) {
  const StickLayout layout = DefaultLayout(shape, DataFormat::kSen169Fp16);
  return {{"name", name},
          {"role", role},
          {"shape", shape},
          {"dims", dims},
          {"format", "SEN169_FP16"},
          {"device_size", layout.device_size},
          {"stride_map", layout.stride_map},
          {"host_dim", layout.host_dim}};
}

// The spyrecode.json of a copy kernel compiled for tiles [rows, cols].
inline nlohmann::json CopyKernelJson(int64_t rows, int64_t cols) {
  return nlohmann::json{
      {"JobPreparationPlan",
       {{{"command", "Allocate"}, {"properties", {{"size", std::to_string(kProgramAllocation)}}}},
        {{"command", "InitTransfer"},
         {"properties",
          {{"init_bin_file", "init_binary.bin"},
           {"dev_ptr", SegmentPointer(0)},
           {"size", "512"}}}}}},
      {"JobExecPlan",
       {{{"command", "ComputeOnHost"},
         {"properties",
          {{"ihandle", ""},
           {"ishape", {"2"}},
           {"ohandle", "correction_input"},
           {"size", "128"},
           {"hcm", "hcm.json"}}}},
        {{"command", "DataTransfer"},
         {"properties",
          {{"dirn", "false"},
           {"host_handle", "correction_input"},
           {"dev_ptr", SegmentPointer(kCorrectionInputOffset)},
           {"size", "128"}}}},
        {{"command", "ComputeOnDevice"},
         {"properties",
          {{"job_bin_ptr", SegmentPointer(kCorrectionOffset)}, {"name", "copy correction"}}}},
        {{"command", "ComputeOnDevice"},
         {"properties", {{"job_bin_ptr", SegmentPointer(kComputeOffset)}, {"name", "copy"}}}}}},
      {"Metadata",
       {{"name", "copy"},
        {"arguments",
         {ArgumentJson("a", "input", {rows, cols}, {"rows", "cols"}),
          ArgumentJson("out", "output", {rows, cols}, {"rows", "cols"})}},
        {"reduction_dims", nlohmann::json::array()}}}};
}

inline void WriteCopyKernel(const std::filesystem::path& directory, const nlohmann::json& code) {
  WriteFile(directory / "spyrecode.json", code.dump(2));
  WriteFile(directory / "hcm.json",
            R"({"version": 1, "records": [{"argument": 0}, {"argument": 1}]})");
  std::string binary(kCorrectionInputOffset, '\x5A');
  const std::vector<uint8_t> correction =
      Encode(Assemble(".program correction\n.cores 0x1\n.section vector 0x1\n  nop\n"));
  // Its header: what follows is never run.
  std::copy_n(correction.begin(), kImageHeaderBytes,
              binary.begin() + static_cast<std::ptrdiff_t>(kCorrectionOffset));
  WriteFile(directory / "init_binary.bin", binary);
}

// Makes the card imitate the copy kernel compiled for [rows, cols]. `launches` counts computes.
struct CopyKernelImitation {
  int64_t rows;
  int64_t cols;
  bool compute_runs = true;  // false: launches are counted only
  int launches = 0;
  std::vector<CorrectionRecord> records{2};                          // of the last correction
  std::map<uint64_t, std::vector<CorrectionRecord>> corrected = {};  // by program address

  void InstallOn(FakeCard& card) {
    card.on_compute = [this, &card](const FakeCard::Executed& operation) {
      const uint64_t base = operation.block.program_base;
      if (operation.block.device_address == kCorrectionOffset) {
        card.ReadMemory(base + kCorrectionInputOffset, records.data(), 2 * sizeof(records[0]));
        corrected[base] = records;
        return Status::OK;
      }
      ++launches;
      const std::vector<CorrectionRecord>& tensors = corrected[base];
      if (!compute_runs) return Status::OK;
      std::vector<uint8_t> row(kStickBytes);
      for (int64_t stick = 0; stick < (cols + 63) / 64; ++stick) {
        for (int64_t r = 0; r < rows; ++r) {
          card.ReadMemory(AddressOf(tensors.at(0), r, stick), row.data(), row.size());
          card.WriteMemory(AddressOf(tensors.at(1), r, stick), row.data(), row.size());
        }
      }
      return Status::OK;
    };
  }
  static uint64_t AddressOf(const CorrectionRecord& record, int64_t row, int64_t stick) {
    const uint64_t start =
        record.kind == 0 ? record.offset : SegmentAddress(record.region, record.offset);
    return start + static_cast<uint64_t>(row) * record.stride[0] +
           static_cast<uint64_t>(stick) * record.stride[1];
  }
};

}  // namespace spyre::test
