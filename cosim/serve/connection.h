// SPDX-License-Identifier: Apache-2.0
// One client's socket: messages of the vfio-user protocol, whole, in order, with the file
// descriptors that came along. Knows no device. Never waits, except where it is called Await.
//
// Everything from the client is hostile: sizes are bounded before memory is taken, descriptors that
// nobody asked for are closed, and a client that does not read its answers is not read either.
// Kernel thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {

namespace vfio_user = driver::vfio_user;

// Largest data of a message, and descriptors in one, as the server says in its version.
inline constexpr uint32_t kMaxTransferBytes = vfio_user::kDefaultTransferBytes;
inline constexpr size_t kMaxDescriptors = 8;

struct ClientMessage {
  vfio_user::Header header;
  std::string payload;
  std::vector<Descriptor> descriptors;
};

class Connection {
 public:
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  pid_t process() const;  // that connected; 0: not known
  bool open() const { return failure_.empty(); }
  // Why it is not open any more, as a sentence for the log.
  const std::string& failure() const { return failure_; }
  void Fail(const std::string& why);

  // Takes what has arrived, as far as there is room for it.
  void Receive();
  // The next command, if one is whole.
  std::optional<ClientMessage> Next();
  bool empty() const { return commands_.empty(); }

  // Answers a command, unless it asked for no reply.
  void Reply(const vfio_user::Header& command, std::string_view payload);
  void ReplyError(const vfio_user::Header& command, int error);

  // Sends what is left of earlier answers.
  void Flush();
  bool wants_to_read() const { return commands_.size() < kMaxCommands && unsent_.empty(); }
  bool wants_to_write() const { return !unsent_.empty(); }

  // Sends a command to the client. `answer` is called once: with the reply, or with nothing if the
  // client refuses, or if the connection fails. A client that owes an answer for ten seconds fails.
  using Answer = std::function<void(std::optional<std::string> payload)>;
  void Ask(vfio_user::Command command, std::string_view payload, Answer answer);
  // Both wait until `come`, which answers make true, or the connection fails; commands that arrive
  // meanwhile are kept. The first one only for milliseconds, and not at all for a client whose last
  // answer has taken longer; the second one fails the connection when its patience is over.
  void AwaitPrompt(const bool& come);
  void AwaitWhole(const bool& come);
  bool owes_answers() const { return !questions_.empty(); }
  // What the client has not taken of what was sent.
  size_t unsent_bytes() const { return unsent_.size(); }
  void CheckPatience();  // now and then

 private:
  static constexpr size_t kMaxCommands = 64;

  struct Question {
    vfio_user::Command command;
    std::chrono::steady_clock::time_point asked;
    Answer answer;
  };
  enum class Step { kWhole, kWait };
  void Await(const bool& come, std::chrono::milliseconds patience);
  Step ReadMessage();
  bool ReadBytes(uint8_t* data, size_t bytes, size_t& have);
  bool CheckHeader();
  void Deliver();
  void Send(const vfio_user::Header& header, std::string_view payload);

  Descriptor socket_;
  std::string failure_;
  ClientMessage incoming_;   // as far as it has come
  size_t header_bytes_ = 0;  // of it
  size_t payload_bytes_ = 0;
  std::deque<ClientMessage> commands_;
  std::string unsent_;
  uint16_t next_id_ = 1;
  bool prompt_ = true;
  std::map<uint16_t, Question> questions_;  // that the client has not answered, by id
};

}  // namespace spyre::cosim
