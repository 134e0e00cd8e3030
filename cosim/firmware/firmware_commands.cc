// SPDX-License-Identifier: Apache-2.0
#include "cosim/firmware/firmware_commands.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/error.h"
#include "base/files.h"
#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/firmware_updater.h"
#include "firmware/firmware_image.h"
#include "firmware/version.h"
#include "model/common/elf_image.h"
#include "model/contract/firmware_package.h"

namespace spyre::cosim {
namespace {

struct Arguments {
  std::string elf, image, output, config;
  std::string version = fmt::format("{}.{}.{}", FW_VERSION_MAJOR, FW_VERSION_MINOR, FW_BUILD);
  std::vector<std::string> sets;
};

constexpr int kGood = 0, kBad = 1;  // exit statuses

std::vector<uint8_t> ReadImage(const std::string& path) {
  // More than a card takes, so that it is the image that is judged, not the file.
  const std::string bytes = ReadFile(path, "firmware image", 2 * kFirmwareSlotBytes);
  return {bytes.begin(), bytes.end()};
}

std::string Verdict(UpdateStatus status) {
  const EnumName<UpdateStatus>& entry = Describe(status);
  return status == UpdateStatus::DONE ? "good"
                                      : fmt::format("{}: {}", entry.name, entry.description);
}

int Pack(const Arguments& args, std::ostream& out) {
  const model::ElfImage elf = args.elf.empty()
                                  ? model::ParseElf(FirmwareImage(), "the built-in firmware")
                                  : model::ReadElf(args.elf);
  const std::vector<uint8_t> image =
      PackFirmware(model::FlattenElf(elf), ParsePackageVersion(args.version));
  OutputFile file(args.output, "firmware image");
  file.stream().write(reinterpret_cast<const char*>(image.data()),
                      static_cast<std::streamsize>(image.size()));
  file.Commit();
  out << fmt::format("{}: version {}, {} bytes\n", args.output, args.version, image.size());
  return kGood;
}

int Info(const Arguments& args, std::ostream& out) {
  const std::vector<uint8_t> image = ReadImage(args.image);
  FirmwareHeader header;
  const UpdateStatus status = CheckFirmware(image.data(), image.size(), &header);
  if (header.magic != kFirmwareMagic) {
    out << fmt::format("{}: {}\n", args.image, Verdict(status));
    return kBad;
  }
  out << fmt::format(
      "version         {}\nbuild id        {:016x}\ntarget          {}\nminimum spec    {}\n"
      "payload         {} bytes at 0x{:08x}\nentry           0x{:08x}\npayload CRC     {:08x}\n"
      "image           {}\n",
      VersionText(header), header.build_id,
      header.target == kFirmwareTargetRv32im ? "rv32im" : fmt::format("{}, unknown", header.target),
      header.minimum_spec, header.payload_bytes, header.load_address, header.entry,
      header.payload_crc, Verdict(status));
  return status == UpdateStatus::DONE ? kGood : kBad;
}

int Verify(const Arguments& args, std::ostream& out) {
  const std::vector<uint8_t> image = ReadImage(args.image);
  const UpdateStatus status = CheckFirmware(image.data(), image.size());
  out << fmt::format("{}: {}\n", args.image, Verdict(status));
  return status == UpdateStatus::DONE ? kGood : kBad;
}

std::string SlotTable(driver::FirmwareUpdater& updater) {
  const driver::BootInfo boot = updater.ReadBoot();
  std::string text = "slot  version      build id              bytes  state\n";
  for (unsigned slot = 0; slot < kFirmwareSlots; ++slot) {
    const driver::SlotInfo info = updater.ReadSlot(slot);
    std::string state = Verdict(info.state);
    if (boot.running == slot) state += ", running";
    if (boot.active == slot) state += ", active";
    if (boot.pending == slot)
      state += fmt::format(", boots next (started {} times)", boot.attempts);
    text += fmt::format(
        "{:<4}  {:<11}  {:016x}  {:>9}  {}\n", driver::SlotName(slot),
        fmt::format("{}.{}.{}", info.version.major, info.version.minor, info.version.patch),
        info.build_id, info.bytes, state);
  }
  if (boot.failure != BootFailure::NONE) {
    std::string name = "?", why;
    for (const auto& entry : kBootFailureNames) {
      if (entry.value != boot.failure) continue;
      name = entry.name;
      why = entry.description;
    }
    text += fmt::format("last failure: slot {}, {} ({}), detail {}\n",
                        driver::SlotName(boot.failed_slot), name, why, boot.failure_detail);
  }
  return text;
}

// Firmware that does not come up is what is to be shown, or mended. Returns why the card does not
// work; "": it does.
std::string BootOf(InProcessTransport& card) {
  constexpr uint64_t kBootPs = 1'000'000'000;
  try {
    card.Advance(kBootPs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDeviceFault) throw;
    return error.what();
  }
  return "";
}

// The card of a configuration, switched on.
struct PoweredCard {
  explicit PoweredCard(const RunConfig& config)
      : transport(
            config.card,
            {config.host.register_write_ns, config.host.register_read_ns, config.host.interrupt_ns},
            nullptr),
        lost(BootOf(transport)),
        updater(transport) {}
  InProcessTransport transport;
  const std::string lost;
  driver::FirmwareUpdater updater;
};

int Slots(const Arguments& args, std::ostream& out) {
  PoweredCard card(LoadConfig(args.config, args.sets));
  out << SlotTable(card.updater);
  if (!card.lost.empty()) out << fmt::format("the card does not work: {}\n", card.lost);
  return kGood;
}

int Update(const Arguments& args, std::ostream& out, std::ostream& log) {
  const std::vector<uint8_t> image = ReadImage(args.image);
  const RunConfig config = LoadConfig(args.config, args.sets);
  if (config.card.management.flash.empty()) {
    log << "warning: card.management.flash is not set, so the card forgets the update when this "
           "command ends\n";
  }
  PoweredCard card(config);
  auto milliseconds = [&card, since = card.transport.NowPs()]() mutable {
    const uint64_t begin = since;
    since = card.transport.NowPs();
    return static_cast<double>(since - begin) * 1e-9;
  };
  const unsigned slot = card.updater.Update(image);
  out << fmt::format("slot {}: {} bytes written, read back and activated in {:.1f} ms\n",
                     driver::SlotName(slot), image.size(), milliseconds());
  const UpdateStatus status = card.updater.Restart();
  out << fmt::format("restarted in {:.1f} ms{}\n", milliseconds(),
                     status == UpdateStatus::DONE ? "" : "; " + Verdict(status));
  out << SlotTable(card.updater);
  return status == UpdateStatus::DONE ? kGood : kBad;
}

}  // namespace

void AddFirmwareCommands(
    command_line::Command& firmware,
    const std::function<void(command_line::Command&, std::vector<std::string>&)>& add_sets,
    std::ostream& out, std::ostream& log) {
  using command_line::Command;
  using command_line::Words;
  const auto a = std::make_shared<Arguments>();  // lives as long as the actions
  const char* const status =
      "Exit status: 0 done; 1 the image is not good, or was rolled back; 2 bad input; 3 device "
      "fault.";
  const auto image = [&a](Command& command) {
    command.Add("IMAGE", a->image, "firmware image").Required().Completes(Words::kFiles);
  };
  const auto config = [&](Command& command) {
    command.Add("CONFIG", a->config, "TOML file; its card is used, its workload is not run")
        .Required()
        .Completes(Words::kFiles);
    add_sets(command, a->sets);
  };

  Command& pack = firmware.AddCommand("pack", "Make an image of an ELF executable");
  pack.Add("ELF", a->elf, "RV32IM executable; the firmware of this program, if none is given")
      .Completes(Words::kFiles);
  pack.Add("-o,--output", a->output, "the image")
      .Placeholder("FILE")
      .Required()
      .Completes(Words::kFiles);
  pack.Add("--image-version", a->version, "three numbers").Placeholder("X.Y.Z").ShowDefault();
  pack.Footer(status).Action([a, &out] { return Pack(*a, out); });

  Command& info = firmware.AddCommand("info", "Print the header of an image");
  image(info);
  info.Footer(status).Action([a, &out] { return Info(*a, out); });

  Command& verify = firmware.AddCommand("verify", "Say whether a card would take an image");
  image(verify);
  verify.Footer(status).Action([a, &out] { return Verify(*a, out); });

  Command& slots = firmware.AddCommand("slots", "Print what the flash of a card holds");
  config(slots);
  slots.Footer(status).Action([a, &out] { return Slots(*a, out); });

  Command& update = firmware.AddCommand("update", "Write an image to a card and start it");
  config(update);
  image(update);
  update.Footer(status).Action([a, &out, &log] { return Update(*a, out, log); });
}

}  // namespace spyre::cosim
