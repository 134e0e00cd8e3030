// SPDX-License-Identifier: Apache-2.0
// A bring-up program with a rung of its own, above those of the ladder. It has all options of
// spyre-bringup: my_bringup --backend vfio:0000:3b:00.0 --rung 21
#include <array>

#include "bringup/cli/program.h"
#include "bringup/ladder/rung.h"

namespace {

using spyre::ControlBlock;
using spyre::Opcode;
using spyre::Status;

// The name says which rung: here 21.
class Rung21MyBoard : public spyre::bringup::Rung {};

TEST_F(Rung21MyBoard, KeepsEveryPatternInItsScratchRegister) {
  EnableBars(0);
  auto registers = Registers(0);
  for (const uint32_t pattern : std::array{0x00000000u, 0xFFFFFFFFu, 0x55555555u, 0xAAAAAAAAu}) {
    registers.WriteScratch(pattern);
    EXPECT_EQ(registers.ReadScratch(), pattern);
  }
}

// A figure for the report. It has no limits, because the card's configuration does not know it.
TEST_F(Rung21MyBoard, FillsAMebibyte) {
  spyre::driver::Device& device = Physical();
  spyre::driver::PhysicalFunction(device).MapRange(0, 1 << 20, spyre::kPermissionWrite);
  ControlBlock fill;
  fill.opcode = static_cast<uint8_t>(Opcode::DMA_FILL);
  fill.size_bytes = 1 << 20;
  spyre::driver::Entry entry = fill;
  device.queue().Submit(entry);
  const spyre::Response done = device.queue().Wait();
  ASSERT_EQ(done.status, static_cast<uint16_t>(Status::OK));
  Measure("my_fill", static_cast<double>(done.finished_ps - done.started_ps) / 1000, "ns");
}

TEST_F(Rung21MyBoard, DividesItsCoresAmongTwoTenants) {
  if (cores() % 2 != 0) CannotRun("the card has an odd number of cores");
  EnableVfs();
  spyre::driver::PhysicalFunction manager(Physical());
  const uint32_t half = (uint32_t{1} << cores() / 2) - 1;
  manager.SetCores(1, half);
  manager.SetCores(2, half << cores() / 2);
  const uint32_t all = cores() == 32 ? 0xFFFFFFFF : (uint32_t{1} << cores()) - 1;
  manager.SetCores(1, all);  // it outlives resets
  manager.SetCores(2, all);
}

}  // namespace

int main(int argc, char** argv) { return spyre::bringup::Main(argc, argv); }
