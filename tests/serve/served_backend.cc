// SPDX-License-Identifier: Apache-2.0
// The ladder's card in another process: each test starts a server of its own, in lockstep, so that
// the tests see the times that they see in one process with the card.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "driver/vfio_user_transport.h"
#include "tests/bringup/backend.h"
#include "tests/paths.h"

namespace spyre::bringup {
namespace {

// The server of one test, ended with it.
class ServedCard {
 public:
  ServedCard() {
    std::string name = (std::filesystem::temp_directory_path() / "spyre-ladder-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw BadInput("cannot make {}", name);
    directory_ = name;
    const std::string config = directory_ + "/card.toml";
    std::ofstream(config) << "[card]\nnum_vfs = " << kVirtualFunctions << "\n";
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw BadInput("cannot make a pipe");
    server_ = fork();
    if (server_ == 0) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      close(pipe_ends[0]);
      close(pipe_ends[1]);
      if (freopen((directory_ + "/log").c_str(), "w", stderr) == nullptr) _exit(1);
      const std::string program = SPYRE_BUILD_DIR "/spyre-cosim";
      execl(program.c_str(), program.c_str(), "serve", config.c_str(), "--vfio-user",
            directory_.c_str(), "--time", "lockstep", nullptr);
      _exit(127);
    }
    close(pipe_ends[1]);
    std::string said;
    char byte = 0;
    while (read(pipe_ends[0], &byte, 1) == 1) {
      said += byte;
      if (said.find("serving\n") != std::string::npos) break;
    }
    close(pipe_ends[0]);
  }
  ~ServedCard() {
    kill(server_, SIGTERM);
    waitpid(server_, nullptr, 0);
    std::filesystem::remove_all(directory_);
  }
  ServedCard(const ServedCard&) = delete;
  ServedCard& operator=(const ServedCard&) = delete;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  pid_t server_ = -1;
};

// The client leaves before its server ends.
class ServedTransport : private ServedCard, public driver::VfioUserTransport {
 public:
  ServedTransport() : VfioUserTransport(directory()) {}
};

}  // namespace

std::unique_ptr<driver::Transport> OpenBackend() { return std::make_unique<ServedTransport>(); }

}  // namespace spyre::bringup
