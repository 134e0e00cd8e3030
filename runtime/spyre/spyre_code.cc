// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_code.h"

#include <contract/registers.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json_reader.h"
#include "model/contract/memory_map.h"
#include "runtime/spyre/spyre_code_metadata.h"

namespace spyre::runtime {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& directory) {
    code_.directory = directory;
    code_.name =
        (directory.has_filename() ? directory : directory.parent_path()).filename().string();
  }

  SpyreCode Read() {
    const std::filesystem::path file = code_.directory / "spyrecode.json";
    const nlohmann::json document = ReadJsonFile(file);
    const JsonReader root(document, file.string());
    root.RequireKeys({"JobPreparationPlan", "JobExecPlan", "Metadata"});
    if (root.Has("Metadata")) {
      ReadMetadata(root.At("Metadata"), code_);
      arguments_ = static_cast<int>(code_.arguments.size());
      dimensions_ = static_cast<int>(code_.dimensions.size());
    }
    ReadPreparation(root.At("JobPreparationPlan"));
    const JsonReader exec = root.At("JobExecPlan");
    for (size_t i = 0; i < exec.Size(); ++i) ReadExec(exec.At(i), i);
    return std::move(code_);
  }

 private:
  // `offset` names a place of `size` bytes; checks alignment and bounds.
  uint64_t SegmentOffset(const JsonReader& pointer, uint64_t size) const {
    const uint64_t address = pointer.NumberString();
    if (address < kProgramBase || address - kProgramBase >= kSegmentBytes) {
      pointer.Fail(fmt::format("an address in segment 7, from 0x{:X} = {}, is expected",
                               kProgramBase, kProgramBase));
    }
    const uint64_t offset = address - kProgramBase;
    if (!IsStickAligned(offset)) pointer.Fail("an address that is a multiple of 128 is expected");
    if (offset > code_.allocation_bytes || size > code_.allocation_bytes - offset) {
      pointer.Fail(
          fmt::format("{} bytes at offset {} inside the allocation of {} bytes are expected", size,
                      offset, code_.allocation_bytes));
    }
    return offset;
  }

  static uint64_t AlignedSize(const JsonReader& size) {
    const uint64_t bytes = size.NumberString();
    if (bytes == 0 || !IsStickAligned(bytes)) {
      size.Fail("a positive multiple of 128 bytes is expected");
    }
    return bytes;
  }

  // A file of the directory itself: a bundle must not reach outside it.
  std::filesystem::path FileOf(const JsonReader& name) const {
    const std::filesystem::path file = name.String();
    if (file.empty() || file != file.filename() || file == "." || file == "..") {
      name.Fail("the name of a file in the same directory is expected");
    }
    return code_.directory / file;
  }

  static std::string CommandOf(const JsonReader& step) {
    step.RequireKeys({"command", "properties"});
    return step.At("command").String();
  }

  void ReadPreparation(const JsonReader& plan) {
    if (plan.Size() < 2) plan.Fail("an Allocate followed by at least one InitTransfer is expected");
    for (size_t i = 0; i < plan.Size(); ++i) {
      const JsonReader step = plan.At(i);
      const char* expected = i == 0 ? "Allocate" : "InitTransfer";
      if (CommandOf(step) != expected) {
        step.At("command").Fail(
            fmt::format("'{}' is expected: one Allocate, then InitTransfers", expected));
      }
      const JsonReader properties = step.At("properties");
      if (i == 0) {
        properties.RequireKeys({"size"});
        code_.allocation_bytes = properties.At("size").NumberString();
        if (code_.allocation_bytes == 0 || code_.allocation_bytes > kSegmentBytes) {
          properties.At("size").Fail(
              fmt::format("1 to {} bytes, one segment, are expected", kSegmentBytes));
        }
        code_.allocation_bytes = AlignUp(code_.allocation_bytes, kStickBytes);
      } else {
        ReadInitTransfer(properties);
      }
    }
  }

  void ReadInitTransfer(const JsonReader& properties) {
    properties.RequireKeys({"init_bin_file", "dev_ptr", "size"});
    InitPacket packet;
    const uint64_t size = AlignedSize(properties.At("size"));
    packet.offset = SegmentOffset(properties.At("dev_ptr"), size);
    const JsonReader name = properties.At("init_bin_file");
    packet.file = name.String();
    auto data = std::make_shared<std::vector<uint8_t>>(ReadBinaryFile(FileOf(name)));
    if (data->size() != size) {
      properties.At("size").Fail(
          fmt::format("the {} bytes that '{}' has are expected", data->size(), packet.file));
    }
    packet.data = std::move(data);
    code_.init_packets.push_back(std::move(packet));
  }

  void ReadExec(const JsonReader& step, size_t index) {
    const std::string command = CommandOf(step);
    const JsonReader properties = step.At("properties");
    if (command == "ComputeOnHost") {
      ReadHostCompute(properties);
    } else if (command == "DataTransfer") {
      ReadTransfer(properties);
    } else if (command == "ComputeOnDevice") {
      properties.RequireKeys({"job_bin_ptr", "name"});
      DeviceComputeStep compute;
      compute.offset = SegmentOffset(properties.At("job_bin_ptr"), kStickBytes);
      compute.name = properties.Has("name") ? properties.At("name").String()
                                            : fmt::format("{}#{}", code_.name, index);
      code_.exec_plan.emplace_back(std::move(compute));
    } else {
      step.At("command").Fail("'ComputeOnHost', 'DataTransfer' or 'ComputeOnDevice' is expected");
    }
  }

  void ReadHostCompute(const JsonReader& properties) {
    properties.RequireKeys({"ihandle", "ishape", "ohandle", "size", "hcm"});
    if (!properties.At("ihandle").String().empty()) {
      properties.At("ihandle").Fail("\"\" is expected: the input is the launch's arguments");
    }
    const JsonReader ishape = properties.At("ishape");
    for (size_t i = 0; i < ishape.Size(); ++i) ishape.At(i).NumberString();
    HostComputeStep compute;
    compute.output = properties.At("ohandle").String();
    if (host_sizes_.count(compute.output) != 0) {
      properties.At("ohandle").Fail("a host handle that no other command writes is expected");
    }
    const JsonReader hcm = properties.At("hcm");
    if (hcm.value().is_object()) {
      compute.correction.records =
          ReadHcm(hcm, arguments_, dimensions_, code_.accumulation.has_value());
    } else {
      const std::filesystem::path file = FileOf(hcm);
      const nlohmann::json document = ReadJsonFile(file);
      compute.correction.records = ReadHcm(JsonReader(document, file.string()), arguments_,
                                           dimensions_, code_.accumulation.has_value());
    }
    const uint64_t records = compute.correction.records.size();
    const uint64_t needed = AlignUp(records * sizeof(CorrectionRecord), kStickBytes);
    compute.correction.size_bytes = AlignedSize(properties.At("size"));
    if (compute.correction.size_bytes != needed) {
      properties.At("size").Fail(
          fmt::format("{} bytes, {} records of {} bytes each rounded up to 128, "
                      "are expected",
                      needed, records, sizeof(CorrectionRecord)));
    }
    host_sizes_[compute.output] = compute.correction.size_bytes;
    code_.exec_plan.emplace_back(std::move(compute));
  }

  void ReadTransfer(const JsonReader& properties) {
    properties.RequireKeys({"dirn", "host_handle", "dev_ptr", "size"});
    TransferStep transfer;
    const std::string direction = properties.At("dirn").String();
    transfer.to_host = direction == "true" || direction == "1";
    if (!transfer.to_host && direction != "false" && direction != "0") {
      properties.At("dirn").Fail("\"false\" (to the card) or \"true\" (to the host) is expected");
    }
    transfer.host_handle = properties.At("host_handle").String();
    transfer.size_bytes = AlignedSize(properties.At("size"));
    transfer.offset = SegmentOffset(properties.At("dev_ptr"), transfer.size_bytes);
    const auto host = host_sizes_.find(transfer.host_handle);
    if (transfer.to_host) {
      if (host != host_sizes_.end()) {
        properties.At("host_handle").Fail("a host handle that no other command writes is expected");
      }
      host_sizes_[transfer.host_handle] = transfer.size_bytes;
    } else if (host == host_sizes_.end()) {
      properties.At("host_handle").Fail("the ohandle of an earlier ComputeOnHost is expected");
    } else if (host->second != transfer.size_bytes) {
      properties.At("size").Fail(fmt::format("the {} bytes that '{}' has are expected",
                                             host->second, transfer.host_handle));
    }
    code_.exec_plan.emplace_back(std::move(transfer));
  }

  SpyreCode code_;
  std::optional<int> arguments_;
  int dimensions_ = 0;
  std::map<std::string, uint64_t> host_sizes_;
};

}  // namespace

SpyreCode ReadSpyreCode(const std::filesystem::path& directory) { return Reader(directory).Read(); }

}  // namespace spyre::runtime
