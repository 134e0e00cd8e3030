#include "cosim/compare.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::json;

RunConfig WithoutRtl(RunConfig config) {
  config.card.control.fidelity = "timed";
  config.card.management.fidelity = "behavioural";
  config.card.pt.fidelity = "timed";
  return config;
}

Json ToJson(const RunDigest& digest) {
  return {{"sim_ps", digest.sim_ps},        {"window_ps", digest.window_ps},
          {"launch_ps", digest.launch_ps},  {"wall_s", digest.wall_s},
          {"output", digest.output_digest}, {"responses", digest.responses}};
}

// What the child says, as text for the pipe.
std::string RunAndTell(const RunConfig& config, const std::string& out_dir) {
  try {
    return ToJson(DigestOf(RunSession(config, out_dir))).dump();
  } catch (const Error& error) {
    return Json{{"error", error.what()}, {"kind", static_cast<int>(error.kind())}}.dump();
  } catch (const std::exception& error) {
    return Json{{"error", error.what()}, {"kind", static_cast<int>(ErrorKind::kInternal)}}.dump();
  }
}

void WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) return;  // the parent has gone
    done += static_cast<size_t>(written);
  }
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

RunDigest DigestOf(const RunResult& result) {
  return {result.sim_ps,
          result.end_ps - result.begin_ps,
          result.launch_end_ps - result.launch_begin_ps,
          result.wall.total,
          result.output_digest,
          result.responses};
}

RunDigest RunReference(const RunConfig& config, const std::string& out_dir) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(ErrorKind::kInternal, "compare: no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorKind::kInternal, "compare: no process for the reference run");
  if (child == 0) {
    close(ends[0]);
    WriteAll(ends[1], RunAndTell(WithoutRtl(config), out_dir));
    _exit(0);
  }
  close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw Error(ErrorKind::kInternal, "compare: the reference run ended without an answer");
  }
  if (json.contains("error")) {
    throw Error(static_cast<ErrorKind>(json["kind"].get<int>()),
                "reference run: " + json["error"].get<std::string>());
  }
  return {json["sim_ps"], json["window_ps"], json["launch_ps"],
          json["wall_s"], json["output"],    json["responses"]};
}

std::string Difference(const RunDigest& run, const RunDigest& reference) {
  const auto [mine, other] = std::mismatch(run.responses.begin(), run.responses.end(),
                                           reference.responses.begin(), reference.responses.end());
  if (mine != run.responses.end() || other != reference.responses.end()) {
    return fmt::format("response {}: {}, reference: {}", mine - run.responses.begin(),
                       mine == run.responses.end() ? "none" : *mine,
                       other == reference.responses.end() ? "none" : *other);
  }
  if (run.output_digest != reference.output_digest) {
    return fmt::format("output tensors: digest {:016x}, reference: {:016x}", run.output_digest,
                       reference.output_digest);
  }
  return "";
}

}  // namespace spyre::cosim
