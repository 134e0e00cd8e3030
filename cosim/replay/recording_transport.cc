// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/recording_transport.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kGrainBytes = kStickBytes;  // changes are recorded in multiples of it
constexpr uint64_t kMaxDataBytes = 1 << 20;

}  // namespace

RecordingTransport::RecordingTransport(ObservableTransport& inner, const std::string& path,
                                       const std::string& config)
    : inner_(inner), writer_(path, config) {
  inner_.ObserveHostWrites([this](driver::FunctionId function, driver::IoAddress address,
                                  uint64_t bytes) { CardWrote(function, address, bytes); });
}

void RecordingTransport::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_) return;
  finished_ = true;
  writer_.Finish(inner_.NowPs());
}

void RecordingTransport::Add(RecordKind kind, int unit, driver::FunctionId function,
                             uint64_t address, uint64_t value, std::string_view data) {
  if (finished_) return;
  RecordHead head;
  head.kind = kind;
  head.unit = static_cast<uint8_t>(unit);
  head.function = function;
  head.time_ps = inner_.NowPs();
  head.address = address;
  head.value = value;
  writer_.Add(head, data);
}

void RecordingTransport::AddCall(RecordKind kind, int unit, driver::FunctionId function,
                                 uint64_t address, uint64_t value) {
  Add(kind, unit, function, address, value);
  AddResponses();
}

void RecordingTransport::AddArrived() {
  const std::lock_guard<std::mutex> lock(mutex_);
  AddResponses();
}

void RecordingTransport::AddResponses() {
  for (const Output& arrived : arrived_) {
    const CardResponse& r = arrived.response;
    const std::string_view bytes(reinterpret_cast<const char*>(&r.response), sizeof r.response);
    Add(RecordKind::kResponse, 0, r.function, r.slot, 0, bytes);
    if (r.output.bytes > 0) {
      Add(RecordKind::kOutput, 0, r.function, r.output.address, r.output.bytes, arrived.data);
    }
  }
  arrived_.clear();
}

void RecordingTransport::CardWrote(driver::FunctionId function, driver::IoAddress address,
                                   uint64_t bytes) {
  const uint8_t* host = mappings_.Find(function, address, bytes);
  if (host == nullptr) return;
  std::memcpy(shadows_.Find(function, address, bytes), host, bytes);
  for (CardResponse& response : watch_.CardWrote(function, address, bytes)) {
    const IoRange& output = response.output;
    std::string data;
    if (output.bytes > 0) {
      data = OutputData(mappings_.Find(function, output.address, output.bytes), output.bytes);
    }
    arrived_.push_back({response, std::move(data)});
  }
}

void RecordingTransport::AddHostData(driver::FunctionId function) {
  for (const IoRange& range : watch_.Readable(function)) {
    if (mappings_.Find(function, range.address, range.bytes) != nullptr)
      AddChanges(function, range);
  }
}

void RecordingTransport::AddChanges(driver::FunctionId function, const IoRange& range) {
  const uint8_t* host = mappings_.Find(function, range.address, range.bytes);
  uint8_t* shadow = shadows_.Find(function, range.address, range.bytes);
  const auto grain_equal = [&](uint64_t offset) {
    return std::memcmp(host + offset, shadow + offset,
                       std::min(kGrainBytes, range.bytes - offset)) == 0;
  };
  for (uint64_t page = 0; page < range.bytes;) {
    const uint64_t page_bytes = std::min(kPageBytes, range.bytes - page);
    if (std::memcmp(host + page, shadow + page, page_bytes) == 0) {
      page += page_bytes;
      continue;
    }
    uint64_t begin = page;
    while (grain_equal(begin)) begin += kGrainBytes;
    uint64_t end = begin;
    while (end < range.bytes && end - begin < kMaxDataBytes && !grain_equal(end))
      end += kGrainBytes;
    end = std::min(end, range.bytes);
    std::memcpy(shadow + begin, host + begin, end - begin);
    const std::string_view data(reinterpret_cast<const char*>(host + begin), end - begin);
    Add(RecordKind::kHostData, 0, function, range.address + begin, 0, data);
    page = end;
  }
}

uint32_t RecordingTransport::ConfigRead(driver::FunctionId function, uint32_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t value = inner_.ConfigRead(function, offset);
  AddCall(RecordKind::kConfigRead, 0, function, offset, value);
  return value;
}

void RecordingTransport::ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inner_.ConfigWrite(function, offset, value);
  AddCall(RecordKind::kConfigWrite, 0, function, offset, value);
}

uint32_t RecordingTransport::Read32(driver::FunctionId function, int bar, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t value = inner_.Read32(function, bar, offset);
  AddCall(RecordKind::kRead, bar, function, offset, value);
  return value;
}

void RecordingTransport::Write32(driver::FunctionId function, int bar, uint64_t offset,
                                 uint32_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bar == 0 && watch_.HostWrote(function, offset, value)) AddHostData(function);
  inner_.Write32(function, bar, offset, value);
  AddCall(RecordKind::kWrite, bar, function, offset, value);
}

driver::IoAddress RecordingTransport::MapHost(driver::FunctionId function, void* host,
                                              size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const driver::IoAddress address = inner_.MapHost(function, host, size);
  AddMapping(function, address, host, size);
  return address;
}

void RecordingTransport::MapHostAt(driver::FunctionId function, driver::IoAddress address,
                                   void* host, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inner_.MapHostAt(function, address, host, size);
  AddMapping(function, address, host, size);
}

void RecordingTransport::AddMapping(driver::FunctionId function, driver::IoAddress address,
                                    void* host, size_t size) {
  // Zeros, as a replay has them; pages that are never touched cost nothing.
  Shadow shadow(static_cast<uint8_t*>(std::calloc(size, 1)));
  if (shadow == nullptr) throw std::bad_alloc();
  mappings_.Add(function, address, static_cast<uint8_t*>(host), size);
  shadows_.Add(function, address, shadow.get(), size);
  shadow_memory_[{function, address}] = std::move(shadow);
  Add(RecordKind::kMap, 0, function, address, size);
}

void RecordingTransport::UnmapHost(driver::FunctionId function, driver::IoAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inner_.UnmapHost(function, address);
  mappings_.Remove(function, address);
  shadows_.Remove(function, address);
  shadow_memory_.erase({function, address});
  Add(RecordKind::kUnmap, 0, function, address, 0);
}

driver::WaitResult RecordingTransport::WaitInterrupt(driver::FunctionId function, int vector,
                                                     uint64_t deadline_ps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t now = inner_.NowPs();
  const uint64_t patience = deadline_ps > now ? deadline_ps - now : 0;
  const driver::WaitResult result = inner_.WaitInterrupt(function, vector, deadline_ps);
  AddCall(RecordKind::kWait, vector, function, std::min(patience, kMaxRecordedPs),
          static_cast<uint64_t>(result));
  return result;
}

void RecordingTransport::Advance(uint64_t host_ps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  inner_.Advance(host_ps);
  AddCall(RecordKind::kAdvance, 0, 0, 0, host_ps);
}

}  // namespace spyre::cosim
