// Runs a host program on two cards and gives what each had to say: SystemC elaborates once in a
// process, so each card lives in a child of its own.
//
// The program gets the configuration of its card and returns its log as bytes; gtest expectations
// in it count. Call before this process has elaborated a card.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "model/card/card_config.h"

namespace spyre::test {

// The bytes that `program` returns, run in a child. A child that throws, dies or has failed an
// expectation fails the test.
inline std::string InChild(const std::function<std::string()>& program) {
  int ends[2];
  if (pipe(ends) != 0) {
    ADD_FAILURE() << "no pipe";
    return {};
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    bool good = true;
    try {
      const std::string bytes = program();
      for (size_t sent = 0; good && sent < bytes.size();) {
        const ssize_t count = write(ends[1], bytes.data() + sent, bytes.size() - sent);
        good = count > 0;
        sent += static_cast<size_t>(count);
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
      good = false;
    }
    std::fflush(nullptr);
    _exit(good && !::testing::Test::HasFailure() ? 0 : 1);
  }
  close(ends[1]);
  std::string bytes;
  char buffer[1 << 16];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  return bytes;
}

using HostProgram = std::function<std::string(const model::CardConfig&)>;

// The logs of the two cards.
inline std::pair<std::string, std::string> OnTwoCards(const HostProgram& program,
                                                      const model::CardConfig& first,
                                                      const model::CardConfig& second) {
  return {InChild([&] { return program(first); }), InChild([&] { return program(second); })};
}

}  // namespace spyre::test
