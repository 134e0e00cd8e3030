// SPDX-License-Identifier: Apache-2.0
// Windows against a plain array of bytes with a right for each.
#include "cosim/serve/client_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

#include "cosim/serve/connection.h"

namespace spyre::cosim::client_memory_test {
namespace {

using driver::vfio_user::DmaMap;
using driver::vfio_user::DmaUnmap;
using ::testing::ElementsAre;

constexpr uint64_t kBytes = 4096;

class ClientMemoryTest : public ::testing::Test {
 protected:
  ClientMemoryTest() : file_(memfd_create("client-memory", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_.get(), kBytes), 0);
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_ = std::make_unique<Connection>(Descriptor(ends[0]));
    other_ = Descriptor(ends[1]);
  }
  int Map(uint64_t address, uint64_t size, uint32_t flags, uint64_t offset = 0) {
    std::vector<Descriptor> files;
    files.emplace_back(dup(file_.get()));
    return memory_.Map(DmaMap{sizeof(DmaMap), flags, offset, address, size}, std::move(files));
  }
  int Unmap(uint64_t address, uint64_t size) {
    DmaUnmap range{sizeof(DmaUnmap), 0, address, size};
    removed_.clear();
    const int error = memory_.Unmap(range, removed_);
    unmapped_bytes_ = range.size;
    return error;
  }

  Descriptor file_, other_;
  std::unique_ptr<Connection> client_;
  ClientMemory memory_;
  std::vector<uint64_t> removed_;  // by the last Unmap
  uint64_t unmapped_bytes_ = 0;
};

TEST_F(ClientMemoryTest, AnyWindowsReadAndWriteAsAnArrayWithRightsDoes) {
  constexpr uint64_t kSpace = 256;
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    memory_.Clear();
    std::vector<uint32_t> rights(kSpace, 0);
    std::vector<uint64_t> place(kSpace, 0);  // in the file
    for (int window = 0; window < 8; ++window) {
      const uint64_t address = rng() % kSpace;
      const uint64_t size = 1 + rng() % 40;
      const uint64_t offset = rng() % (kBytes - 64);
      const uint32_t flags = rng() % 4;
      const uint64_t end = std::min(address + size, kSpace);
      const bool free =
          address + size <= kSpace && std::all_of(rights.begin() + static_cast<ptrdiff_t>(address),
                                                  rights.begin() + static_cast<ptrdiff_t>(end),
                                                  [](uint32_t r) { return r == 0; });
      if (address + size > kSpace) continue;
      const int result = Map(address, size, flags, offset);
      // Windows without rights are there too: told apart by a bit of their own.
      EXPECT_EQ(result, free ? 0 : EEXIST);
      for (uint64_t i = address; result == 0 && i < end; ++i) {
        rights[i] = flags | 8;
        place[i] = offset + (i - address);
      }
    }
    std::vector<uint8_t> bytes(kBytes);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng());
    ASSERT_EQ(pwrite(file_.get(), bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    for (int access = 0; access < 50; ++access) {
      const uint64_t address = rng() % kSpace;
      const uint64_t size = 1 + rng() % 30;
      const auto all = [&](uint32_t right) {
        for (uint64_t i = address; i < address + size; ++i)
          if (i >= kSpace || (rights[i] & right) == 0) return false;
        return true;
      };
      EXPECT_EQ(memory_.Allows(address, size, false), all(1));
      EXPECT_EQ(memory_.Allows(address, size, true), all(2));
      std::vector<uint8_t> data(size);
      EXPECT_EQ(memory_.Allows(address, size, false) && memory_.Read(address, data.data(), size),
                all(1));
      for (uint64_t i = 0; all(1) && i < size; ++i)
        ASSERT_EQ(data[i], bytes[place[address + i]]) << address << " + " << i;
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(rng());
      EXPECT_EQ(memory_.Allows(address, size, true) && memory_.Write(address, data.data(), size),
                all(2));
      for (uint64_t i = 0; all(2) && i < size; ++i) bytes[place[address + i]] = data[i];
      std::vector<uint8_t> now(kBytes);
      ASSERT_EQ(pread(file_.get(), now.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
      ASSERT_EQ(now, bytes) << "write of " << size << " at " << address;
    }
  }
}

TEST_F(ClientMemoryTest, WindowsEndBeforeTheAddressSpaceDoes) {
  EXPECT_EQ(Map(UINT64_MAX - kBytes + 1, kBytes, 3), 0);
  EXPECT_TRUE(memory_.Allows(UINT64_MAX - 9, 10, true));
  EXPECT_FALSE(memory_.Allows(UINT64_MAX - 9, 11, true));
  EXPECT_EQ(Map(UINT64_MAX - 10, 20, 3), EINVAL);
  EXPECT_EQ(Map(0, 0, 3), EINVAL);
  EXPECT_EQ(Map(0, kBytes + 1, 3), EINVAL) << "longer than its file";
  EXPECT_EQ(Map(0, 16, 3, UINT64_MAX - 7), EINVAL);
}

TEST_F(ClientMemoryTest, ARangeThatCutsAWindowIsRefusedAsAWhole) {
  EXPECT_EQ(Map(100, 50, 3), 0);
  EXPECT_EQ(Map(200, 50, 3), 0);
  EXPECT_EQ(Unmap(100, 49), EINVAL);
  EXPECT_EQ(Unmap(101, 49), EINVAL);
  EXPECT_EQ(Unmap(100, 101), EINVAL) << "the second window would be cut";
  EXPECT_EQ(Unmap(0, 0), EINVAL);
  EXPECT_EQ(Unmap(2, UINT64_MAX), EINVAL) << "beyond the address space";
  EXPECT_EQ(memory_.windows(), 2u);
}

TEST_F(ClientMemoryTest, ARangeTakesAllWindowsInItAndNoOther) {
  for (uint64_t address : {50, 100, 150, 300}) ASSERT_EQ(Map(address, 50, 3), 0);
  EXPECT_EQ(Unmap(100, 190), 0);
  EXPECT_THAT(removed_, ElementsAre(100, 150));
  EXPECT_EQ(unmapped_bytes_, 100u);
  EXPECT_TRUE(memory_.Allows(50, 50, true));
  EXPECT_FALSE(memory_.Allows(100, 1, false));
  EXPECT_TRUE(memory_.Allows(300, 50, true));
  EXPECT_EQ(Unmap(100, 100), 0) << "as on Linux, nothing in the range is no error";
  EXPECT_EQ(unmapped_bytes_, 0u);
  EXPECT_EQ(Unmap(0, UINT64_MAX), 0);
  EXPECT_EQ(memory_.windows(), 0u);
}

TEST_F(ClientMemoryTest, ManyWindowsOfOneFileTakeOneDescriptorAndManyFilesAreRefused) {
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(Map(i * kBytes, kBytes, 3), 0);
  const int next = dup(file_.get());
  EXPECT_LT(next, 100);
  close(next);
  memory_.Clear();
  for (uint64_t i = 0; i <= ClientMemory::kMaxFiles; ++i) {
    file_ = Descriptor(memfd_create("another", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(file_.get(), kBytes), 0);
    EXPECT_EQ(Map(i * kBytes, kBytes, 3), i < ClientMemory::kMaxFiles ? 0 : EMFILE);
  }
}

TEST_F(ClientMemoryTest, WhatIsNotAFileIsRefused) {
  std::vector<Descriptor> files;
  files.emplace_back(dup(other_.get()));
  EXPECT_EQ(memory_.Map(DmaMap{sizeof(DmaMap), 3, 0, 0, 16}, std::move(files)), EINVAL);
}

}  // namespace
}  // namespace spyre::cosim::client_memory_test
