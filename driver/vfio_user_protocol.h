// SPDX-License-Identifier: Apache-2.0
// Messages of the vfio-user protocol, version 0.1, as plain data: what the server (cosim/serve) and
// the client (vfio_user_transport.h) have in common. No behaviour.
//
// Sources: QEMU's docs/interop/vfio-user.rst for messages, <linux/vfio.h> for the numbers that it
// takes from there. Every message is a Header and a payload; integers are those of the host; sizes
// are bytes. The last part is an extension of this project: a region in which a client that has
// asked for it finds the card's clock.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace spyre::driver::vfio_user {

inline constexpr uint16_t kMajor = 0;
inline constexpr uint16_t kMinor = 1;
inline constexpr uint32_t kDefaultTransferBytes = 1 << 20;  // max_data_xfer_size if not said

enum class Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kGetInfo = 4,
  kGetRegionInfo = 5,
  kGetRegionIoFds = 6,
  kGetIrqInfo = 7,
  kSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,   // server to client
  kDmaWrite = 12,  // server to client
  kReset = 13,
  kRegionWriteMulti = 15,
  kFeature = 16,
  kMigrationRead = 17,
  kMigrationWrite = 18,
};

struct Header {
  uint16_t id = 0;  // of the sender; a reply repeats it
  Command command = Command::kVersion;
  uint32_t size = 0;   // with this header
  uint32_t flags = 0;  // kReply, kNoReply, kError
  uint32_t error = 0;  // errno of a reply with kError
};
static_assert(sizeof(Header) == 16);

inline constexpr uint32_t kTypeMask = 0xF;  // of flags; 0: a command
inline constexpr uint32_t kReply = 0x1;
inline constexpr uint32_t kNoReply = 0x10;
inline constexpr uint32_t kError = 0x20;

struct Version {  // JSON with its NUL may follow
  uint16_t major = kMajor;
  uint16_t minor = kMinor;
};
static_assert(sizeof(Version) == 4);

struct DmaMap {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;  // in the file of the descriptor that comes along
  uint64_t address = 0;
  uint64_t size = 0;
};
static_assert(sizeof(DmaMap) == 32);
inline constexpr uint32_t kDmaReadable = 0x1;
inline constexpr uint32_t kDmaWritable = 0x2;

struct DmaUnmap {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};
static_assert(sizeof(DmaUnmap) == 24);
inline constexpr uint32_t kUnmapAll = 0x2;  // VFIO_DMA_UNMAP_FLAG_ALL; address and size are 0

struct DeviceInfo {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint32_t regions = 0;
  uint32_t irqs = 0;
};
static_assert(sizeof(DeviceInfo) == 16);
inline constexpr uint32_t kDeviceReset = 0x1;
inline constexpr uint32_t kDevicePci = 0x2;

// Regions and interrupts of a PCI device, in the order of <linux/vfio.h>.
inline constexpr uint32_t kConfigRegion = 7;  // BARs are 0 to 5, the ROM is 6
inline constexpr uint32_t kVgaRegion = 8;
inline constexpr uint32_t kPciRegions = 9;
inline constexpr uint32_t kMsiIrq = 1;
inline constexpr uint32_t kPciIrqs = 5;  // INTx, MSI, MSI-X, error, request

struct RegionInfo {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint32_t index = 0;
  uint32_t capabilities = 0;  // offset of the first from the start of this structure; 0: none
  uint64_t size = 0;
  uint64_t offset = 0;
};
static_assert(sizeof(RegionInfo) == 32);
inline constexpr uint32_t kRegionReadable = 0x1;
inline constexpr uint32_t kRegionWritable = 0x2;
inline constexpr uint32_t kRegionCapabilities = 0x8;

struct RegionTypeCapability {  // VFIO_REGION_INFO_CAP_TYPE
  uint16_t id = 2;
  uint16_t version = 1;
  uint32_t next = 0;
  uint32_t type = 0;
  uint32_t subtype = 0;
};
static_assert(sizeof(RegionTypeCapability) == 16);

struct RegionIoFds {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint32_t index = 0;
  uint32_t count = 0;
};
static_assert(sizeof(RegionIoFds) == 16);

struct IrqInfo {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint32_t index = 0;
  uint32_t count = 0;
};
static_assert(sizeof(IrqInfo) == 16);
inline constexpr uint32_t kIrqEventfd = 0x1;

struct IrqSet {
  uint32_t argsz = 0;
  uint32_t flags = 0;
  uint32_t index = 0;
  uint32_t start = 0;
  uint32_t count = 0;
};
static_assert(sizeof(IrqSet) == 20);
inline constexpr uint32_t kIrqDataNone = 0x1;
inline constexpr uint32_t kIrqDataBool = 0x2;
inline constexpr uint32_t kIrqDataEventfd = 0x4;
inline constexpr uint32_t kIrqMask = 0x8;
inline constexpr uint32_t kIrqUnmask = 0x10;
inline constexpr uint32_t kIrqTrigger = 0x20;
inline constexpr uint32_t kIrqDataTypes = kIrqDataNone | kIrqDataBool | kIrqDataEventfd;
inline constexpr uint32_t kIrqActions = kIrqMask | kIrqUnmask | kIrqTrigger;

struct RegionAccess {  // data follow in a write and in the reply to a read
  uint64_t offset = 0;
  uint32_t region = 0;
  uint32_t count = 0;
};
static_assert(sizeof(RegionAccess) == 16);

struct DmaAccess {  // data follow in a write and in the reply to a read
  uint64_t address = 0;
  uint64_t count = 0;
};
static_assert(sizeof(DmaAccess) == 16);

// ---- The card's clock, for clients that have "spyre_time" in their version capabilities ----
//
// {"capabilities": {"spyre_time": {"client": "NAME", "clients": 1, "monitor": false}}}: one that
// says that it is a monitor resets nothing when it comes and goes. Connections with one name are
// one client, with one thread. In lockstep, time begins when as many `clients` have come as each of
// them says. The reply has {"spyre_time": {"mode": "free", "lockstep" or "paced"}}, and the
// device has one region more, kTimeRegion, with this capability type. For a client that says
// "outcomes": true, each answer to a region access that is no error has a TimeOutcome behind its
// data, so that it need not ask for what is in it; the server's reply has "outcomes": true as well.
inline constexpr uint32_t kTimeRegion = kPciRegions;
inline constexpr uint64_t kTimeRegionBytes = 8192;
inline constexpr uint32_t kTimeRegionType = 0x80000000u | 0x1014;  // vendor type, PCI vendor
inline constexpr uint32_t kTimeRegionSubtype = 0x74696D65;         // "time"

inline constexpr uint64_t kTimeNow = 0x00;       // read 8 bytes: the card's time in ps
inline constexpr uint64_t kTimeAdvance = 0x08;   // write 8 bytes: ps of host work; the reply comes
                                                 // when they have passed
inline constexpr uint64_t kTimeWait = 0x10;      // write a TimeWait; the reply comes at its end
inline constexpr uint64_t kTimeResult = 0x20;    // read 4 bytes: WaitResult of the last wait
                                                 // (also one for a message)
inline constexpr uint64_t kTimeDiagnose = 0x40;  // read at most up to the region's end: who waits
                                                 // on what, text, zeros behind it

// Of several cards: what the platform does for programs that drive one each.
inline constexpr uint64_t kTimeReceive = 0x28;  // write 4 bytes, a number: the client sleeps until
                                                // a message has come for it, and takes it;
                                                // what kTimeMessage then reads is behind the
                                                // TimeOutcome of the answer
inline constexpr uint64_t kTimePeers = 0x30;    // read 8 bytes: where on the bus the card's memory
                                                // window belongs, 0: nowhere; write a PeerMapping
inline constexpr uint64_t kTimeMapped = 0x38;   // read 8 bytes: the address of the last one
inline constexpr uint64_t kTimePost = 0x1000;   // write a MailAddress, and the message behind it
inline constexpr uint64_t kTimeMessage = 0x1000;  // read: what was received last, behind its
                                                  // bytes and its sender, both uint32_t
inline constexpr uint64_t kTimeName = 0x1800;   // write the correlation of a COMPUTE (8 bytes), and
                                                // its name for the trace
inline constexpr uint64_t kTimeSlice = 0x1900;  // write a HostSlice, and its name, for the trace
inline constexpr uint64_t kTimeFarewell = 0x2c;  // write 4 bytes, 0: the client goes as it should

inline constexpr uint64_t kMaxMessageBytes = 2000;

// In lockstep, a client that was answered less than so long ago is not taken for one that sleeps on
// the host: time stands where it was.
inline constexpr int kAwakeMs = 50;

struct TimeOutcome {
  uint64_t now_ps = 0;       // kTimeNow
  uint32_t wait_result = 0;  // kTimeResult
  uint32_t reserved = 0;
};
static_assert(sizeof(TimeOutcome) == 16);

// Messages of a sender are taken in the order in which they were posted, and of several senders
// those of the lowest number first. The numbers are the clients' own, as ranks of a program.
struct MailAddress {
  uint32_t from = 0, to = 0;
};
static_assert(sizeof(MailAddress) == 8);

// [offset, offset + bytes) of the memory window of card `peer` becomes reachable for the function's
// DMA; or, with `unmap`, what lies at address `offset` is no longer.
struct PeerMapping {
  uint32_t peer = 0, unmap = 0;
  uint64_t offset = 0, bytes = 0;
};
static_assert(sizeof(PeerMapping) == 24);

// What the client did with other clients, in its card's trace.
struct HostSlice {
  uint64_t begin_ps = 0, end_ps = 0;
  uint64_t bytes = 0;
  uint32_t peer = 0, reserved = 0;
};
static_assert(sizeof(HostSlice) == 32);

struct TimeWait {
  uint64_t deadline_ps = 0;  // of the card's time
  uint32_t vector = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(TimeWait) == 16);

// A structure as it goes over the wire; valid as long as `value`.
template <typename T>
std::string_view BytesOf(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace spyre::driver::vfio_user
