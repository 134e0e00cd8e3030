// SPDX-License-Identifier: Apache-2.0
#include "bringup/cli/backends.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/vfio_transport.h"
#include "driver/vfio_user_transport.h"

namespace spyre::bringup {
namespace {

Backend Simulated(const cosim::RunConfig& config) {
  Backend backend;
  backend.fresh = true;
  backend.memory_limit_bytes = 1 << 30;
  const cosim::HostTiming timing{config.host.register_write_ns, config.host.register_read_ns,
                                 config.host.interrupt_ns};
  backend.transport = std::make_unique<cosim::InProcessTransport>(config.card, timing, nullptr);
  return backend;
}

Backend Served(const std::string& path) {
  if (path.empty()) throw BadInput("--backend vfio-user:DIR: DIR is that of `spyre-cosim serve`");
  Backend backend;
  auto transport = std::make_unique<driver::VfioUserTransport>(path);
  backend.time_passes = transport->time_mode() != "lockstep";
  backend.memory_limit_bytes = 1 << 30;
  backend.transport = std::move(transport);
  return backend;
}

Backend InMachine(const std::string& address) {
  if (address.empty())
    throw BadInput("--backend vfio:BDF: BDF is the PCI address, as in vfio:0000:3b:00.0");
  Backend backend;
  driver::VfioOptions options;
  options.device = address;
  auto transport = std::make_unique<driver::VfioTransport>(options);
  if (transport->function() != 0) {
    throw BadInput("--backend vfio:{}: a virtual function; the ladder needs the physical one",
                   address);
  }
  backend.transport = std::move(transport);
  backend.system_owns_config = backend.time_passes = true;
  return backend;
}

}  // namespace

Backend OpenBackend(const BackendArguments& arguments, const std::vector<BackendKind>& more) {
  const std::string& text = arguments.backend;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool simulated = name == "inproc";
  if (simulated && !rest.empty() && !arguments.card.empty()) {
    throw BadInput("--backend {} and --card {}: the simulated card has one configuration", text,
                   arguments.card);
  }
  const cosim::RunConfig config =
      cosim::LoadConfig(simulated && !rest.empty() ? rest : arguments.card, arguments.sets);
  Backend backend;
  if (simulated) {
    backend = Simulated(config);
  } else if (name == "vfio-user") {
    backend = Served(rest);
  } else if (name == "vfio") {
    backend = InMachine(rest);
  } else {
    std::string known = "inproc, vfio-user, vfio";
    const BackendKind* found = nullptr;
    for (const BackendKind& kind : more) {
      known += ", " + kind.name;
      if (kind.name == name) found = &kind;
    }
    if (found == nullptr) throw BadInput("--backend {}: must be one of {}", text, known);
    backend = found->open(rest);
  }
  backend.name = text;
  // A card in another process, or a real one, is what it is: what it should be has to be said.
  const bool said = simulated || !arguments.card.empty() || !arguments.sets.empty();
  if (said && !backend.expected) backend.expected = ExpectedOf(config);
  return backend;
}

}  // namespace spyre::bringup
