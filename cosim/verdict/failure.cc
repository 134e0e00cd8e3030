// SPDX-License-Identifier: Apache-2.0
#include "cosim/verdict/failure.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "runtime/compiler/ir/ir.h"
#include "traces/trace_file.h"

namespace spyre::cosim {
namespace {

Failure BadInputFailure(std::string message) {
  return {kBadInputStatus, "InvalidInput", "", std::move(message)};
}

Failure FailureOf(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kBadInput:
      return BadInputFailure(error.what());
    case ErrorKind::kDeviceFault:
      return {kFaultStatus, "DeviceFault", "", error.what()};
    case ErrorKind::kInternal:
      break;
  }
  return {kBugStatus, "InternalError", "", error.what()};
}

}  // namespace

std::string Failure::Line() const {
  if (type == "DeviceFault") return "device fault: " + message;
  if (type == "InternalError") return "internal error: " + message;
  return kind.empty() ? message : fmt::format("{} [{}: {}]", message, type, kind);
}

nlohmann::ordered_json ToJson(const Failure& failure) {
  nlohmann::ordered_json error = {{"type", failure.type}};
  if (!failure.kind.empty()) error["kind"] = failure.kind;
  error["message"] = failure.message;
  return {{"exit_status", failure.status}, {"verified", nullptr}, {"error", std::move(error)}};
}

Failure CurrentFailure() {
  try {
    throw;
  } catch (const Interruption& stop) {
    return {stop.signal() == SIGALRM ? kFaultStatus : kSignalStatus + stop.signal(), "Interrupted",
            "", stop.what()};
  } catch (const compiler::CompileError& error) {
    return {kBadInputStatus, error.type(), error.message_kind(), error.what()};
  } catch (const Error& error) {
    return FailureOf(error);
  } catch (const trace::Error& error) {
    return BadInputFailure(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return BadInputFailure(error.what());
  } catch (const std::system_error& error) {  // descriptors, threads: the machine has too few
    return BadInputFailure(
        fmt::format("the machine has too few threads or open files left: {}", error.what()));
  } catch (const std::bad_alloc&) {
    return BadInputFailure(
        "not enough host memory; use smaller tensors or workload.functional = false");
  } catch (const std::exception& error) {
    return {kBugStatus, "InternalError", "", error.what()};
  }
}

}  // namespace spyre::cosim
