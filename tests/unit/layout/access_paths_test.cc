// SPDX-License-Identifier: Apache-2.0
// Every access of a function passes one place for each kind of memory, as docs/security.md says.
// The types of the sources see to most of it: device memory takes a Grant, which the Mmu alone can
// make. What types cannot say is who may call beneath them, and that stands here, file by file. A
// failure is a new way past a check: go through the check, or change this list and the page.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/paths.h"

namespace spyre::access_paths_test {
namespace {

namespace fs = std::filesystem;

// Sources of the card that have `pattern` in their code, comments apart. The RTL is behind them and
// has no access of its own.
std::set<std::string> WhoHas(const std::string& pattern) {
  const fs::path root = SPYRE_SOURCE_DIR;
  const std::regex searched(pattern);
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / "model")) {
    const fs::path& path = entry.path();
    if (path.extension() != ".h" && path.extension() != ".cc") continue;
    const std::string name = fs::relative(path, root).generic_string();
    if (name.rfind("model/rtl/", 0) == 0) continue;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      if (std::regex_search(line.substr(0, line.find("//")), searched)) found.insert(name);
    }
  }
  return found;
}

using Files = std::set<std::string>;

TEST(AccessPaths, OnlyTheMmuMakesGrants) {
  EXPECT_EQ(WhoHas("friend class Mmu"), (Files{"model/mmu/grant.h"}));
  EXPECT_EQ(WhoHas("withdrawals_"),
            (Files{"model/mmu/grant.h", "model/mmu/mmu.cc", "model/mmu/mmu.h"}));
}

TEST(AccessPaths, DeviceMemoryIsReachedThroughPortsThatTakeGrants) {
  // The socket beneath DevicePort; and the ring, which passes on what came through one.
  EXPECT_EQ(WhoHas("\\bSplitSocket\\b"),
            (Files{"model/common/split_socket.h", "model/mmu/device_port.h", "model/ring/ring.h"}));
  EXPECT_EQ(WhoHas("->nb_transport_fw\\("), (Files{"model/common/split_socket.h"}));
  EXPECT_EQ(WhoHas("memory_socket\\.Send\\("),
            (Files{"model/ring/multicast.cc", "model/ring/ring.cc"}));
  EXPECT_EQ(WhoHas("->JoinMulticast\\("), (Files{"model/core/multicast_port.h"}));
  // Messages between cores of a job, whose addresses have the bit that names a core.
  EXPECT_EQ(WhoHas("\\bSendAside\\("),
            (Files{"model/core/ring_unit.cc", "model/mmu/device_port.h"}));
  // The PF's window, for the host and for the cards to which the PF has opened it, and the
  // management controller's clearing.
  EXPECT_EQ(WhoHas("\\bwindow->"),
            (Files{"model/pcie/endpoint.cc", "model/pcie/endpoint_peer.cc"}));
  EXPECT_EQ(WhoHas("->ClearMemory\\("), (Files{"model/control/scrubber.cc"}));
}

TEST(AccessPaths, HostMemoryIsReachedThroughTheEndpoint) {
  EXPECT_EQ(WhoHas("\\bhost->b_transport\\("),
            (Files{"model/control/control_processor.cc", "model/control/entry_read.cc",
                   "model/dma/dma_engine.cc"}));
  EXPECT_EQ(WhoHas("\\boutbound->"), (Files{"model/pcie/endpoint_dma.cc"}));
}

TEST(AccessPaths, RegistersAndConfigurationSpaceAreReachedThroughTheEndpoint) {
  EXPECT_EQ(WhoHas("\\.ReadBar0\\(|\\.WriteBar0\\("), (Files{"model/pcie/endpoint.cc"}));
  EXPECT_EQ(WhoHas("\\.Read32\\(|\\.Write32\\("), (Files{"model/pcie/endpoint.cc"}));
}

}  // namespace
}  // namespace spyre::access_paths_test
