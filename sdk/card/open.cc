// SPDX-License-Identifier: Apache-2.0
#include "sdk/card/open.h"

#include <fmt/format.h>
#include <modules/spyre_card.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/module.h"
#include "driver/vfio_transport.h"
#include "driver/vfio_user_transport.h"

namespace spyre::sdk {
namespace {

constexpr Module kCardModule = {"spyre_card", "the simulated card"};
constexpr std::string_view kVfioUser = "vfio-user:";
constexpr std::string_view kVfio = "vfio:";

// A card in another process or in the machine. It has its own report, if any.
class ElsewhereCard : public ProgramCard {
 public:
  ElsewhereCard(std::unique_ptr<driver::Transport> transport, driver::FunctionId function)
      : transport_(std::move(transport)), function_(function) {}

  driver::Transport& transport() override { return *transport_; }
  driver::FunctionId function() const override { return function_; }
  const flex::RuntimeOptions& options() const override { return options_; }
  void Loaded(const ProgramLoad&) override {}
  void Launched(const ProgramLaunch&) override {}
  void Converted(const ProgramCopy&) override {}
  void Failed(const std::string&) override {}
  void Finish(flex::RuntimeContext&) noexcept override {}

 private:
  static flex::RuntimeOptions Options() {
    flex::RuntimeOptions options;
    options.keep_completed = false;
    return options;
  }

  const std::unique_ptr<driver::Transport> transport_;
  const driver::FunctionId function_;
  const flex::RuntimeOptions options_ = Options();
};

// One that `spyre-cosim serve` serves. The server traces; it is told what kernels are called.
class ServedCard final : public ElsewhereCard, private RankMail {
 public:
  ServedCard(std::unique_ptr<driver::VfioUserTransport> transport, const CardRequest& request)
      : ElsewhereCard(std::move(transport), request.function == "vf" ? 1 : 0),
        served_(static_cast<driver::VfioUserTransport&>(ElsewhereCard::transport())),
        number_(request.card) {}

  RankMail* mail() override { return this; }
  size_t number() const override { return number_; }
  void Launched(const ProgramLaunch& launch) override {
    if (!launch.correction) served_.NameCompute(launch.correlation, launch.name);
  }
  void Finish(flex::RuntimeContext&) noexcept override { served_.TakeLeave(); }

 private:
  void Post(uint32_t from, uint32_t to, std::string_view message) override {
    served_.Post(from, to, message);
  }
  std::optional<Mail> Receive(uint32_t to) override {
    auto mail = served_.Receive(to);
    if (!mail) return std::nullopt;
    return Mail{mail->from, std::move(mail->text)};
  }
  void Trace(const std::string& part, uint64_t begin_ps, uint64_t end_ps, uint64_t bytes,
             size_t peer) override {
    served_.Trace({begin_ps, end_ps, bytes, static_cast<uint32_t>(peer), 0}, part);
  }

  driver::VfioUserTransport& served_;
  const size_t number_;
};

// The sockets of the request's card: of several, each has a directory of its own.
std::string DirectoryOf(const CardRequest& request) {
  std::string directory = request.where.substr(kVfioUser.size());
  std::error_code error;
  if (!std::filesystem::is_directory(directory + "/card0", error)) return directory;
  std::string own = fmt::format("{}/card{}", directory, request.card);
  if (!std::filesystem::is_directory(own, error)) {
    throw BadInput("SPYRE_COSIM_CARD = {}: the server has no card {}", request.where, request.card)
        .Subject("SPYRE_COSIM_CARD");
  }
  return own;
}

bool StartsWith(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

std::unique_ptr<ProgramCard> OpenCard(const CardRequest& request) {
  if (request.where.empty()) {
    static const auto open =
        reinterpret_cast<OpenModuleCard>(ModuleSymbol(kCardModule, SPYRE_CARD_SYMBOL));
    std::unique_ptr<ProgramCard> card;
    open(card, request);
    return card;
  }
  if (!request.out.empty()) {
    throw BadInput(
        "SPYRE_COSIM_OUT = {}: a report needs the card in this process, and SPYRE_COSIM_CARD = {} "
        "is elsewhere; leave one of them out",
        request.out, request.where)
        .Subject("SPYRE_COSIM_OUT");
  }
  std::unique_ptr<driver::Transport> transport;
  if (StartsWith(request.where, kVfioUser)) {
    return std::make_unique<ServedCard>(
        std::make_unique<driver::VfioUserTransport>(
            DirectoryOf(request), driver::VfioUserTransport::Program{request.rank, request.ranks}),
        request);
  }
  if (StartsWith(request.where, kVfio)) {
    driver::VfioOptions options;
    options.device = request.where.substr(kVfio.size());
    transport = std::make_unique<driver::VfioTransport>(options);
  } else {
    throw BadInput(
        "SPYRE_COSIM_CARD = '{}': 'model', 'vfio-user:DIR' (the directory of `spyre-cosim serve`) "
        "or 'vfio:ADDRESS' (of a card in this machine) is expected",
        request.where)
        .Subject("SPYRE_COSIM_CARD");
  }
  return std::make_unique<ElsewhereCard>(std::move(transport), request.function == "vf" ? 1 : 0);
}

}  // namespace spyre::sdk
