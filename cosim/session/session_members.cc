// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_members.h"

#include <fmt/format.h>

#include "base/interrupt.h"

namespace spyre::cosim {

std::optional<Error> ErrorOfProgram(const std::exception_ptr& failure, const std::string& name) {
  if (!failure) return std::nullopt;
  try {
    std::rethrow_exception(failure);
  } catch (const Interruption&) {
    throw;
  } catch (const Error& error) {
    return error.Within(name);
  } catch (const std::exception& error) {
    return InternalError("{}: {}", name, error.what());
  }
}

void SessionMembers::Add(const std::string& name, const RunConfig& config,
                         const std::string& session_dir, RunResult& result) {
  auto member = std::make_unique<SessionMember>();
  member->name = name;
  member->config = config;
  member->result = &result;
  try {
    member->run = std::make_unique<FunctionRun>(config, session_dir + "/" + name, report_, result);
  } catch (const Error& error) {
    throw error.Within(name);
  }
  member->recorder = std::make_unique<trace::Recorder>(recorder_, name);
  members_.push_back(std::move(member));
}

std::string SessionMembers::Description() const {
  std::string text;
  for (const auto& member : members_) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", member->name,
                        member->run->workload().description());
  }
  return text;
}

void SessionMembers::MakeDirectories(RunResult& session, std::vector<std::string> inputs) {
  session.directory = std::make_shared<OutputDirectory>(session.out_dir);
  for (const auto& member : members_) {
    const std::vector<std::string> paths = member->run->InputPaths();
    inputs.insert(inputs.end(), paths.begin(), paths.end());
  }
  session.directory->Clear(FilesOfAnyRun(), inputs);
  for (const auto& member : members_) {
    RunResult& result = *member->result;
    result.directory = std::make_shared<OutputDirectory>(result.out_dir);
    result.directory->Clear(member->run->FileNames(), inputs);
  }
}

void SessionMembers::Compile() {
  for (const auto& member : members_) member->run->Compile();
}

void SessionMembers::WriteTensors(size_t i, std::string& unwritten) {
  try {
    members_[i]->run->WriteTensors();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    if (unwritten.empty()) unwritten = error.what();
  }
}

}  // namespace spyre::cosim
