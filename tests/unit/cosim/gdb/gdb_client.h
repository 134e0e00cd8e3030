// SPDX-License-Identifier: Apache-2.0
// A client that speaks GDB's remote protocol over a loopback socket. Blocks until it is answered.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "cosim/gdb/gdb_packet.h"

namespace spyre::test {

class GdbClient {
 public:
  explicit GdbClient(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~GdbClient() { Close(); }
  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  void SendRaw(const std::string& bytes) const {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The next byte; '\0' at the end of the stream.
  char Byte() const {
    char c = 0;
    return recv(socket_, &c, 1, 0) == 1 ? c : '\0';
  }
  // The payload of the next packet, acknowledgements skipped.
  std::string Packet() {
    while (true) {
      const char c = Byte();
      if (c == '\0') return "(closed)";
      if (reader_.Push(static_cast<uint8_t>(c)) == cosim::GdbPacketReader::Event::kPacket)
        return reader_.payload();
    }
  }
  std::string Ask(const std::string& payload) {
    SendRaw(cosim::GdbPacket(payload));
    return Packet();
  }

 private:
  int socket_;
  cosim::GdbPacketReader reader_;
};

}  // namespace spyre::test
