// SPDX-License-Identifier: Apache-2.0
// Rung 8: device memory, through DMA. Faults are located: address, bits, and channel and bank where
// it is known how addresses are spread.
#include <algorithm>
#include <set>

#include "bringup/ladder/memory_test.h"
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

// Device memory by DMA of the physical function, through one buffer.
class DmaMemory : public MemoryUnderTest {
 public:
  DmaMemory(driver::Device& device, size_t buffer_bytes)
      : device_(device), buffer_(device.transport(), 0, buffer_bytes) {}

  static void Map(driver::Device& device) {
    const uint64_t bytes = static_cast<uint64_t>(device.registers().ReadMemoryMib()) << 20;
    driver::PhysicalFunction(device).MapRange(0, bytes, kPermissionRead | kPermissionWrite);
  }

  void Write(uint64_t address, const uint8_t* data, size_t bytes) override {
    std::memcpy(buffer_.data(), data, bytes);
    Run(Opcode::DMA_IN, address, bytes);  // what has failed shows when it is read
  }
  bool Read(uint64_t address, uint8_t* data, size_t bytes) override {
    if (!Run(Opcode::DMA_OUT, address, bytes)) return false;
    std::memcpy(data, buffer_.data(), bytes);
    return true;
  }

 private:
  // False: the memory knows that it is wrong. The stream has failed then, and begins again.
  bool Run(Opcode opcode, uint64_t address, size_t bytes) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.host_address = buffer_.io_address();
    block.device_address = address;
    block.size_bytes = bytes;
    driver::Entry entry = block;
    device_.queue().Submit(entry);
    const Response response = device_.queue().Wait();
    const auto status = static_cast<Status>(response.status);
    if (status == Status::OK) return true;
    if (status != Status::BUS_ERROR) {
      throw DeviceFault("{} of {} bytes at {:#x} ended with {}, fault address {:#x}",
                        OpcodeName(opcode), bytes, address, StatusName(status),
                        response.fault_address);
    }
    device_.Reset();
    Map(device_);
    return false;
  }

  driver::Device& device_;
  driver::HostBuffer buffer_;
};

class Rung8Memory : public Rung {
 protected:
  static constexpr uint64_t kBlock = 256;

  void SetUp() override { DmaMemory::Map(Physical()); }
  DmaMemory Memory(size_t buffer_bytes) { return {Physical(), buffer_bytes}; }

  const Expected* Places() {
    const auto& expected = board().backend().expected;
    return expected && expected->place ? &*expected : nullptr;
  }
  // All of them, then where they are: a line for each channel, a letter for each bank.
  void Report(const MemoryFaults& faults) {
    for (const MemoryFault& fault : faults.first) {
      ADD_FAILURE() << fault.step << ": " << PlaceOf(fault.address)
                    << (fault.unreadable
                            ? ", cannot be read: BUS_ERROR, its code finds more wrong bits than it "
                              "can correct"
                            : fmt::format(", wrong bits {:#018x}, read {:#018x}",
                                          fault.expected ^ fault.found, fault.found));
    }
    EXPECT_EQ(faults.count, 0u) << "words that were read wrongly, in " << faults.cells.size()
                                << " blocks\n"
                                << MapOf(faults.cells);
  }
  std::string MapOf(const std::set<uint64_t>& cells) {
    const Expected* const places = Places();
    if (places == nullptr) return "--card CONFIG says which channels and banks these are";
    std::vector<std::string> lines(places->channels, std::string(places->banks, '.'));
    for (const uint64_t cell : cells) {
      const MemoryPlace place = places->place(cell);
      lines.at(place.channel).at(place.bank) = 'X';
    }
    std::string text = "where blocks are bad (X), by channel and bank:\n";
    for (size_t channel = 0; channel < lines.size(); ++channel)
      text += fmt::format("  channel {:>2}  {}\n", channel, lines[channel]);
    return text;
  }
  // The first block of memory in each channel and bank, or blocks at equal distances.
  std::vector<uint64_t> BlocksOfBanks() {
    std::vector<uint64_t> blocks;
    const Expected* const places = Places();
    if (places == nullptr) {
      const uint64_t distance = memory_bytes() / 256 / kBlock * kBlock;
      for (uint64_t i = 0; i < 256; ++i) blocks.push_back(i * distance);
      return blocks;
    }
    const size_t wanted = static_cast<size_t>(places->channels) * places->banks;
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (uint64_t address = 0; address < memory_bytes() && seen.size() < wanted;
         address += kBlock) {
      const MemoryPlace place = places->place(address);
      if (seen.emplace(place.channel, place.bank).second) blocks.push_back(address);
    }
    EXPECT_EQ(seen.size(), wanted) << "channels and banks with memory";
    return blocks;
  }
  static Cells CellsOf(const std::vector<uint64_t>& blocks, size_t block_bytes, size_t cell_bytes) {
    Cells cells;
    cells.cell_bytes = cell_bytes;
    for (const uint64_t block : blocks) {
      for (uint64_t offset = 0; offset < block_bytes; offset += cell_bytes)
        cells.addresses.push_back(block + offset);
    }
    return cells;
  }
};

TEST_F(Rung8Memory, AMarchFindsNoFaultInAnyChannelAndBank) {
  const std::vector<uint64_t> blocks = BlocksOfBanks();
  DmaMemory memory = Memory(kBlock);
  std::vector<uint64_t> backgrounds = MarchBackgrounds();
  if (board().level() == 1) backgrounds.resize(2);
  Report(MarchCMinus(memory, CellsOf(blocks, kBlock, kBlock), backgrounds));
  Measure("march_blocks", static_cast<double>(blocks.size()), "blocks of 256 bytes");
}

TEST_F(Rung8Memory, EveryAddressLineTellsPlacesApart) {
  std::vector<uint64_t> blocks = {0};
  for (uint64_t line = 128; line < memory_bytes(); line *= 2) blocks.push_back(line);
  for (uint64_t line = 128; line < memory_bytes() / 2; line *= 2)
    blocks.push_back(memory_bytes() - 128 - line);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  DmaMemory memory = Memory(128);
  Report(AddressInAddress(memory, CellsOf(blocks, 128, 128)));
}

TEST_F(Rung8Memory, EveryDataLineOfEveryChannelWalks) {
  std::vector<uint64_t> blocks;
  std::set<uint32_t> channels;
  for (const uint64_t block : BlocksOfBanks()) {
    if (Places() == nullptr || channels.insert(Places()->place(block).channel).second)
      blocks.push_back(block);
  }
  if (Places() == nullptr) blocks.resize(16);
  DmaMemory memory = Memory(kBlock);
  Report(WalkingBits(memory, CellsOf(blocks, kBlock, kBlock)));
}

class Rung8MemoryLevel2 : public Rung8Memory {};

TEST_F(Rung8MemoryLevel2, AMarchFindsNoFaultAtBothEndsAndInTheMiddle) {
  constexpr uint64_t kWindow = 4 << 20;
  constexpr size_t kCell = 64 << 10;
  if (memory_bytes() < 3 * kWindow) CannotRun("the card has less than 12 MiB of memory");
  const uint64_t middle = memory_bytes() / 2 / kWindow * kWindow;
  DmaMemory memory = Memory(kCell);
  Report(MarchCMinus(memory, CellsOf({0, middle, memory_bytes() - kWindow}, kWindow, kCell),
                     MarchBackgrounds()));
}

class Rung8MemoryLevel3 : public Rung8Memory {
 protected:
  static constexpr size_t kCell = 1 << 20;

  Cells AllOfIt() {
    const uint64_t limit = board().backend().memory_limit_bytes;
    const uint64_t bytes = limit == 0 ? memory_bytes() : std::min(limit, memory_bytes());
    Measure("memory_tested", static_cast<double>(bytes >> 20), "MiB");
    return CellsOf({0}, bytes / kCell * kCell, kCell);
  }
};

TEST_F(Rung8MemoryLevel3, AllOfItHoldsItsAddresses) {
  DmaMemory memory = Memory(kCell);
  Report(AddressInAddress(memory, AllOfIt()));
}

TEST_F(Rung8MemoryLevel3, AMarchFindsNoFaultInAllOfIt) {
  DmaMemory memory = Memory(kCell);
  Report(MarchCMinus(memory, AllOfIt(), {0, 0x5555555555555555}));
}

}  // namespace

void LinkMemoryRung() {}

}  // namespace spyre::bringup
