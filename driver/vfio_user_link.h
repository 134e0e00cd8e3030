// SPDX-License-Identifier: Apache-2.0
// One connection of VfioUserTransport, to one function: calls, and the answers to the server's own
// calls for host memory. Calls and notes: one at a time. Map and Unmap: the caller's thread; memory
// is reached by a thread of the link. In lockstep it is reached by the thread that calls, while it
// waits for its answer: one that came by way of another thread would cost twice as much.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "driver/transport.h"
#include "driver/vfio_user_protocol.h"

namespace spyre::driver {

class VfioUserLink {
 public:
  // Connects and says the version. client: name for the card's clock, of so many.
  VfioUserLink(const std::string& path, const std::string& client, bool monitor = false,
               unsigned clients = 1);
  ~VfioUserLink();
  VfioUserLink(const VfioUserLink&) = delete;
  VfioUserLink& operator=(const VfioUserLink&) = delete;

  const std::string& time_mode() const { return time_mode_; }

  // Empty: the server has refused it. Throws Error(kDeviceFault) if the server has gone.
  std::optional<std::string> Call(vfio_user::Command command, std::string_view payload);
  // Reads from a region; empty if the server refuses.
  std::optional<std::string> Read(uint32_t region, uint64_t offset, uint32_t count);
  bool Write(uint32_t region, uint64_t offset, std::string_view data);
  // Writes what the server only notes: it goes before the next call, and nobody waits for it.
  void Note(uint32_t region, uint64_t offset, std::string_view data);
  // What the last Read or Write that was not refused has come to, and what came behind that.
  const vfio_user::TimeOutcome& outcome() const { return outcome_; }
  const std::string& behind_outcome() const { return behind_outcome_; }

  bool Map(IoAddress address, uint8_t* host, size_t size);
  // False: it is not mapped.
  bool Unmap(IoAddress address);

 private:
  struct Message {
    vfio_user::Header header;
    std::string payload;
  };
  struct Mapping {
    uint8_t* host;
    size_t size;
  };

  void Connect();
  void Hello(const std::string& client, bool monitor, unsigned clients);
  std::optional<std::string> Access(vfio_user::Command command, std::string_view payload,
                                    size_t data_bytes);
  void Listen();      // the thread
  void ReceiveOne();  // a message; under receive_mutex_
  bool ReceiveBytes(void* data, size_t bytes) const;
  bool Send(const vfio_user::Header& header, std::string_view payload, std::string before = "");
  void Answer(const Message& message);

  const std::string path_;
  Descriptor socket_;
  std::string time_mode_;
  vfio_user::TimeOutcome outcome_;
  std::string behind_outcome_;
  std::string notes_;  // messages that have not been sent
  std::mutex send_mutex_;

  uint16_t next_id_ = 1;

  std::mutex receive_mutex_;  // of what comes from the socket, and of these:
  std::condition_variable received_;
  bool lost_ = false;
  uint64_t calls_ = 0;              // so far
  bool time_waits_for_us_ = false;  // lockstep: the card, for host memory too
  std::optional<Message> reply_;

  std::mutex mappings_mutex_;
  std::map<IoAddress, Mapping> mappings_;
  std::thread thread_;
};

}  // namespace spyre::driver
