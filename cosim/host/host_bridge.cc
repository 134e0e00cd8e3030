// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/host_bridge.h"

#include <contract/registers.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/ranges.h"
#include "model/common/transfer.h"

namespace spyre::cosim {

namespace {
constexpr uint64_t kMsiBase = 0xFEE00000;
constexpr uint64_t kMsiBytes = 0x100000;
constexpr uint64_t kMsiMessageBytes = 4;
constexpr uint64_t kShortWriteBytes = 256;
constexpr driver::IoAddress kFirstIoAddress = 0x1'0000'0000;  // clear of the MSI window
constexpr uint64_t kPage = 4096;
constexpr unsigned kAllBytes = 0xF;
}  // namespace

HostBridge::HostBridge(const sc_core::sc_module_name& name)
    : sc_module(name), next_address_(kFirstIoAddress) {
  from_card.register_b_transport(this, &HostBridge::Dma);
  payload_.set_extension(&access_);
  SC_HAS_PROCESS(HostBridge);
  SC_METHOD(DeliverArrivals);
  sensitive << arrival_event_;
  dont_initialize();
  SC_METHOD(Pause);
  sensitive << card_lost.posedge_event();
  dont_initialize();
}

uint32_t HostBridge::Access(driver::FunctionId function, model::HostAccess::Space space,
                            uint64_t offset, bool write, uint32_t value, uint64_t* delay_ps) {
  const bool answered =
      AccessBytes(function, space, offset, write, reinterpret_cast<uint8_t*>(&value), sizeof(value),
                  kAllBytes, delay_ps);
  // As on a bus: what is not answered reads as all ones.
  return answered ? value : 0xFFFFFFFF;
}

bool HostBridge::AccessBytes(driver::FunctionId function, model::HostAccess::Space space,
                             uint64_t offset, bool write, uint8_t* data, unsigned bytes,
                             unsigned enables, uint64_t* delay_ps) {
  std::array<uint8_t, 4> enabled{};
  for (unsigned i = 0; i < enabled.size(); ++i)
    enabled[i] = (enables >> i & 1) != 0 ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED;
  access_.function = function;
  access_.space = space;
  payload_.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload_.set_address(offset);
  payload_.set_data_ptr(data);
  payload_.set_data_length(bytes);
  payload_.set_streaming_width(bytes);
  payload_.set_byte_enable_ptr(enables == kAllBytes ? nullptr : enabled.data());
  payload_.set_byte_enable_length(enables == kAllBytes ? 0 : bytes);
  payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  to_card->b_transport(payload_, delay);
  *delay_ps = delay.value();
  payload_.set_byte_enable_ptr(nullptr);
  return payload_.is_response_ok();
}

driver::IoAddress HostBridge::Map(driver::FunctionId function, void* host, size_t size) {
  if (host == nullptr || size == 0)
    throw BadInput("transport: cannot map {} bytes at a null or empty range", size);
  const driver::IoAddress address = next_address_;
  MapAt(function, address, host, size);
  next_address_ += (size + kPage - 1) / kPage * kPage + kPage;  // a hole, so that an overrun faults
  return address;
}

void HostBridge::MapAt(driver::FunctionId function, driver::IoAddress address, void* host,
                       size_t size) {
  mappings_.Add(function, address, static_cast<uint8_t*>(host), size);
}

void HostBridge::Unmap(driver::FunctionId function, driver::IoAddress address) {
  if (!mappings_.Remove(function, address)) {
    throw BadInput("transport: unmap of IO address {:#x}, which function {} has not mapped",
                   address, function);
  }
}

void HostBridge::UnmapAll() {
  mappings_.Clear();
  observer_ = nullptr;
}

// The same for memory and interrupts of somebody else, to whom an MSI is one wherever it goes.
void HostBridge::DmaToSide(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
  const auto* transfer = payload.get_extension<model::Transfer>();
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  uint8_t* data = payload.get_data_ptr();
  bool done = true;
  if (transfer->msi_vector >= 0 ||
      (payload.is_write() && bytes <= kShortWriteBytes && transfer->move_data)) {
    done = transfer->msi_vector >= 0 || side_->Allows(transfer->function, address, bytes, true);
    if (done) {
      arrivals_.push({model::NowPs() + delay.value(),
                      arrival_order_++,
                      address,
                      transfer->function,
                      transfer->msi_vector,
                      {data, data + bytes}});
      arrival_event_.notify(delay);
    }
  } else if (!transfer->move_data) {
    done = side_->Allows(transfer->function, address, bytes, payload.is_write());
  } else if (payload.is_write()) {
    done = side_->Write(transfer->function, address, data, bytes);
  } else {
    done = ReadFromSide(payload);
    if (transfer->unanswered()) return;
  }
  payload.set_response_status(done ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

bool HostBridge::ReadFromSide(tlm::tlm_generic_payload& payload) {
  auto& transfer = *payload.get_extension<model::Transfer>();
  uint8_t* const data = payload.get_data_ptr();
  const uint64_t bytes = payload.get_data_length();
  if (transfer.unanswered()) return false;
  if (const auto late = std::move(transfer.late)) {
    const bool good = late->good && late->data.size() == bytes;
    if (good) std::copy_n(late->data.begin(), bytes, data);
    return good;
  }
  return side_->Read(transfer.function, payload.get_address(), data, bytes, &transfer.late) ==
         HostSide::Answer::kDone;
}

bool HostBridge::ReadFails(tlm::tlm_generic_payload& payload) {
  auto& transfer = *payload.get_extension<model::Transfer>();
  const uint64_t begin = payload.get_address();
  const uint64_t end = begin + payload.get_data_length();
  const auto touched = [&](const ReadFault& fault) {
    return fault.times > 0 && fault.function == transfer.function && fault.address < end &&
           begin < fault.address + fault.bytes;
  };
  const auto fault = FindIf(read_faults_, touched);
  if (fault == read_faults_.end()) return false;
  --fault->times;
  transfer.poisoned = fault->kind == ReadFault::Kind::kPoisoned;
  if (transfer.poisoned) return false;
  if (fault->kind == ReadFault::Kind::kUnsupported)
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (fault->kind == ReadFault::Kind::kAbort)
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  return true;
}

void HostBridge::Dma(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (payload.is_read() && !read_faults_.empty() && ReadFails(payload)) return;
  Serve(payload, delay);
}

void HostBridge::Serve(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
  if (side_ != nullptr) {
    DmaToSide(payload, delay);
    return;
  }
  const auto* transfer = payload.get_extension<model::Transfer>();
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  // Only a message is meant for the interrupt controller; anything longer, or a read, hits no
  // memory.
  const bool msi = address >= kMsiBase && address < kMsiBase + kMsiBytes && payload.is_write() &&
                   bytes == kMsiMessageBytes;
  uint8_t* host = msi ? nullptr : mappings_.Find(transfer->function, address, bytes);
  if (!msi && host == nullptr) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  const uint8_t* data = payload.get_data_ptr();
  if (payload.is_write() && bytes <= kShortWriteBytes && transfer->move_data) {
    arrivals_.push({model::NowPs() + delay.value(),
                    arrival_order_++,
                    address,
                    transfer->function,
                    msi ? 0 : -1,
                    {data, data + bytes}});
    arrival_event_.notify(delay);
  } else if (transfer->move_data && host != nullptr) {
    if (payload.is_write()) {
      std::memcpy(host, data, bytes);
      if (observer_) observer_(transfer->function, address, bytes);
    } else {
      std::memcpy(payload.get_data_ptr(), host, bytes);
    }
  }
}

void HostBridge::DeliverArrivals() {
  const uint64_t now = model::NowPs();
  while (!arrivals_.empty() && arrivals_.top().time_ps <= now) {
    const Arrival arrival = arrivals_.top();
    arrivals_.pop();
    if (arrival.msi_vector >= 0) DeliverBefore(arrival);
    Deliver(arrival);
  }
  if (!arrivals_.empty()) arrival_event_.notify(model::Ps(arrivals_.top().time_ps - now));
}

// A message passes no posted write of its function, also where the link is without contention and a
// short packet therefore arrives before a longer one that was sent first.
void HostBridge::DeliverBefore(const Arrival& message) {
  std::vector<Arrival> later, passed;
  for (; !arrivals_.empty(); arrivals_.pop()) {
    const Arrival& arrival = arrivals_.top();
    const bool before = arrival.function == message.function && arrival.order < message.order;
    (before ? passed : later).push_back(arrival);
  }
  for (Arrival& arrival : later) arrivals_.push(std::move(arrival));
  std::sort(passed.begin(), passed.end(),
            [](const Arrival& a, const Arrival& b) { return a.order < b.order; });
  for (const Arrival& arrival : passed) Deliver(arrival);
}

void HostBridge::Deliver(const Arrival& arrival) {
  if (side_ != nullptr) {
    if (arrival.msi_vector >= 0) {
      side_->Interrupt(arrival.function, static_cast<unsigned>(arrival.msi_vector));
      Interrupt(arrival.function, static_cast<unsigned>(arrival.msi_vector));
    } else {
      side_->Write(arrival.function, arrival.address, arrival.data.data(), arrival.data.size());
    }
  } else if (arrival.msi_vector >= 0) {
    // As interrupt remapping does: the message must come from the function that the address
    // names. Its low data bits are the vector.
    const auto function = static_cast<driver::FunctionId>((arrival.address - kMsiBase) >> 12);
    if (function == arrival.function) Interrupt(function, arrival.data[0] % kMsiVectors);
  } else if (uint8_t* host = mappings_.Find(arrival.function, arrival.address, arrival.data.size());
             host != nullptr) {
    std::memcpy(host, arrival.data.data(),
                arrival.data.size());  // unmapped meanwhile: lost, as on a bus
    if (observer_) observer_(arrival.function, arrival.address, arrival.data.size());
  }
}

void HostBridge::Interrupt(driver::FunctionId function, unsigned vector) {
  interrupts_.emplace(function, vector);
  Pause();
}

void HostBridge::Pause() {
  ++pauses_;
  sc_core::sc_pause();
}

void HostBridge::ForgetInterrupts(driver::FunctionId function) {
  for (unsigned vector = 0; vector < kMsiVectors; ++vector) interrupts_.erase({function, vector});
}

bool HostBridge::TakeInterrupt(driver::FunctionId function, unsigned vector) {
  return interrupts_.erase({function, vector}) == 1;
}

}  // namespace spyre::cosim
