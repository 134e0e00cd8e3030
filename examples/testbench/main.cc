// SPDX-License-Identifier: Apache-2.0
// The card on somebody else's bus. A processor finds it in configuration space, gives its BARs a
// place, sets up the rings, lets it copy 64 KiB to its memory and back, and looks at the result.
#include <contract/register_access.h>

#include <cstdio>
#include <cstdlib>

#include "model/card/card.h"
#include "model/contract/control_block.h"
#include "model/root_port/root_port.h"
#include "platform.h"

namespace config = spyre::model::config;

constexpr uint64_t kEcam = 0xE000'0000;
constexpr uint64_t kBar0 = 0x40'0000'0000, kBar2 = 0x50'0000'0000, kBar4 = 0x60'0000'0000;
constexpr uint64_t kSubmission = 0x1000, kResponses = 0x2000;  // rings, in memory
constexpr uint64_t kSource = 0x20000, kCopy = 0x40000;
constexpr unsigned kBytes = 64 << 10;
constexpr uint32_t kEntries = 16;

class Processor : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Processor, 64> bus{"bus"};

  Processor(const sc_core::sc_module_name& name, platform::Memory& memory,
            platform::InterruptController& interrupts)
      : sc_module(name), memory_(memory), interrupts_(interrupts) {
    SC_HAS_PROCESS(Processor);
    SC_THREAD(Run);
  }
  bool passed = false;

 private:
  struct Registers {  // of the physical function, for the generated accessors
    Processor* processor;
    uint32_t Read(uint32_t offset) const { return processor->Load(kBar0 + offset); }
    void Write(uint32_t offset, uint32_t value) const { processor->Store(kBar0 + offset, value); }
  };
  void Access(tlm::tlm_command command, uint64_t address, void* data, unsigned bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<uint8_t*>(data));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    bus->b_transport(payload, delay);
    if (!payload.is_response_ok()) SC_REPORT_FATAL(name(), payload.get_response_string().c_str());
    wait(delay);
  }
  uint32_t Load(uint64_t address) {
    uint32_t value = 0;
    Access(tlm::TLM_READ_COMMAND, address, &value, sizeof(value));
    return value;
  }
  void Store(uint64_t address, uint64_t value, unsigned bytes = 4) {
    Access(tlm::TLM_WRITE_COMMAND, address, &value, bytes);
  }

  void Enumerate() {
    std::printf("PCI id %08x\n", Load(kEcam));
    Store(kEcam + config::kBar0, kBar0, 8);
    Store(kEcam + config::kBar0 + 8, kBar2, 8);
    Store(kEcam + config::kBar0 + 16, kBar4, 8);
    Store(kEcam + config::kMsiAddressLow, platform::kInterrupts, 8);
    Store(kEcam + config::kMsiData, 0x20, 2);
    Store(kEcam + config::kMsi, Load(kEcam + config::kMsi) | config::kMsiEnable);
    Store(kEcam + config::kCommandStatus, config::kCommandMemory | config::kCommandBusMaster, 2);
  }
  void Submit(uint64_t sequence, spyre::Opcode opcode, uint64_t host) {
    spyre::ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.flags = spyre::kFlagInterrupt;
    block.sequence = sequence;
    block.host_address = host;
    block.size_bytes = kBytes;
    spyre::Seal(block);
    std::memcpy(&memory_.bytes[kSubmission + (sequence - 1) * sizeof(block)], &block,
                sizeof(block));
    registers_.WriteSqTail(static_cast<uint32_t>(sequence));
    wait(interrupts_.raised);
    spyre::Response response;
    std::memcpy(&response, &memory_.bytes[kResponses + (sequence - 1) * sizeof(response)],
                sizeof(response));
    std::printf("%s: %s after %.1f us\n", spyre::OpcodeName(opcode),
                spyre::StatusName(static_cast<spyre::Status>(response.status)),
                static_cast<double>(response.posted_ps - response.queued_ps) / 1e6);
    registers_.WriteRqHead(static_cast<uint32_t>(sequence));
  }

  void Run() {
    Enumerate();
    while ((registers_.ReadStatus() & spyre::regs::STATUS_READY_MASK) == 0)
      wait(10, sc_core::SC_US);
    registers_.WriteMapBase(0);
    registers_.WriteMapLength(kBytes);
    registers_.WriteMapCommand(1);
    registers_.WriteIntEnable(spyre::regs::INT_STATUS_RESPONSE_MASK);
    registers_.WriteSqBase(kSubmission);
    registers_.WriteSqEntries(kEntries);
    registers_.WriteRqBase(kResponses);
    registers_.WriteRqEntries(kEntries);
    registers_.WriteQueueControl(1);
    for (unsigned i = 0; i < kBytes; ++i) memory_.bytes[kSource + i] = static_cast<uint8_t>(i * 37);
    Submit(1, spyre::Opcode::DMA_IN, kSource);
    Submit(2, spyre::Opcode::DMA_OUT, kCopy);
    uint64_t seen = 0;  // by the memory window, BAR2
    Access(tlm::TLM_READ_COMMAND, kBar2 + 8, &seen, sizeof(seen));
    passed = std::memcmp(&memory_.bytes[kSource], &memory_.bytes[kCopy], kBytes) == 0 &&
             std::memcmp(&memory_.bytes[kSource + 8], &seen, sizeof(seen)) == 0;
    sc_core::sc_stop();
  }

  platform::Memory& memory_;
  platform::InterruptController& interrupts_;
  spyre::driver::RegisterAccess<Registers> registers_{Registers{this}};
};

int sc_main(int /*argc*/, char* /*argv*/[]) {
  platform::Memory memory("memory");
  platform::InterruptController interrupts("interrupts");
  platform::Bus bus("bus");
  Processor processor("processor", memory, interrupts);
  spyre::model::Card card("card", spyre::model::CardConfig{}, nullptr);
  spyre::model::RootPort<64> port("port", card.endpoint(), {kEcam});

  processor.bus.bind(bus.from);
  port.to_bus.bind(bus.from);
  bus.to.bind(memory.socket);
  bus.to.bind(interrupts.socket);
  bus.to.bind(port.from_bus);

  sc_core::sc_start();
  std::printf("%s\n", processor.passed ? "the copy is right" : "THE COPY IS WRONG");
  return processor.passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
