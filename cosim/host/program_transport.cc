// SPDX-License-Identifier: Apache-2.0
#include "cosim/host/program_transport.h"

namespace spyre::cosim {

uint32_t ProgramTransport::Access(driver::FunctionId function, model::HostAccess::Space space,
                                  uint64_t offset, bool write, uint32_t value) {
  if (!programs_.inside()) return card_.Access(function, space, offset, write, value);
  programs_.Use(card_);
  const HostTiming& timing = card_.timing();
  programs_.Sleep((write ? timing.register_write_ns : timing.register_read_ns) *
                  HostPrograms::kPsPerNs);
  uint64_t delay_ps = 0;
  const uint32_t result = card_.AccessNow(function, space, offset, write, value, &delay_ps);
  if (!write) programs_.Sleep(delay_ps);  // writes are posted
  return result;
}

uint32_t ProgramTransport::ConfigRead(driver::FunctionId function, uint32_t offset) {
  return Access(function, model::HostAccess::Space::kConfig, offset, false, 0);
}

void ProgramTransport::ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) {
  Access(function, model::HostAccess::Space::kConfig, offset, true, value);
}

uint32_t ProgramTransport::Read32(driver::FunctionId function, int bar, uint64_t offset) {
  return Access(function, InProcessTransport::SpaceOfBar(bar), offset, false, 0);
}

void ProgramTransport::Write32(driver::FunctionId function, int bar, uint64_t offset,
                               uint32_t value) {
  Access(function, InProcessTransport::SpaceOfBar(bar), offset, true, value);
}

driver::IoAddress ProgramTransport::MapHost(driver::FunctionId function, void* host, size_t size) {
  return card_.MapHost(function, host, size);
}

void ProgramTransport::UnmapHost(driver::FunctionId function, driver::IoAddress address) {
  card_.UnmapHost(function, address);
}

driver::WaitResult ProgramTransport::WaitInterrupt(driver::FunctionId function, int vector,
                                                   uint64_t deadline_ps) {
  return programs_.inside() ? programs_.WaitInterrupt(card_, function, vector, deadline_ps)
                            : card_.WaitInterrupt(function, vector, deadline_ps);
}

void ProgramTransport::Advance(uint64_t host_ps) {
  if (programs_.inside()) {
    programs_.Sleep(host_ps);
  } else {
    card_.Advance(host_ps);
  }
}

}  // namespace spyre::cosim
