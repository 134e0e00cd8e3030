// SPDX-License-Identifier: Apache-2.0
// The rungs of the ladder, each in a file of its own. Tests of a static library are only in a
// program that names their file: LinkRungs names them all. It does nothing when it is called.
#pragma once

namespace spyre::bringup {

void LinkConfigSpaceRung();
void LinkCoresRung();
void LinkRegistersRung();
void LinkFirmwareRung();
void LinkQueueRung();
void LinkDmaRung();
void LinkTelemetryRung();
void LinkMmuRung();
void LinkProgramsRung();
void LinkFunctionsRung();
void LinkKernelsRung();
void LinkMemoryRung();
void LinkLinkRung();
void LinkPerformanceRung();
void LinkTenantsRung();
void LinkSoakRung();

inline void LinkRungs() {
  LinkConfigSpaceRung();
  LinkCoresRung();
  LinkRegistersRung();
  LinkFirmwareRung();
  LinkQueueRung();
  LinkDmaRung();
  LinkTelemetryRung();
  LinkMmuRung();
  LinkProgramsRung();
  LinkFunctionsRung();
  LinkKernelsRung();
  LinkMemoryRung();
  LinkLinkRung();
  LinkPerformanceRung();
  LinkTenantsRung();
  LinkSoakRung();
}

}  // namespace spyre::bringup
