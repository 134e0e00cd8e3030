// SPDX-License-Identifier: Apache-2.0
// What was launched of a task list (task_list_run.h), for the report. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spyre::cosim {

struct TaskListSummary {
  std::string mode;
  std::vector<uint32_t> streams;  // that took part, ascending
  uint64_t tasks = 0;             // that launched a kernel
  uint64_t kernels = 0, program_copies = 0;
  uint64_t copies = 0;            // of tensors
  uint64_t waits = 0;             // between streams
  std::optional<uint64_t> edges;  // that the task graph found
  // Of each stream, the tasks whose kernels it launched, in order.
  std::map<uint32_t, std::vector<std::string>> tasks_of;
  // What the host computed between them, in order: the operation of a result, and its time.
  struct HostOperation {
    std::string result, op;
    uint64_t ps = 0;
  };
  std::vector<HostOperation> host_operations;
};

}  // namespace spyre::cosim
