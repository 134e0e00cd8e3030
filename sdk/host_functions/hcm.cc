// SPDX-License-Identifier: Apache-2.0
#include <contract/registers.h>
#include <spyrecode-host-functions/processSpyreCodeArtifacts.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "model/contract/memory_map.h"
#include "sdk/host_functions/correction.h"

namespace spyre::sdk {
namespace {

std::atomic<bool> physical_addresses = true;

// By output buffer, from the computation to the copy that follows it.
struct Corrections {
  std::mutex mutex;
  std::unordered_map<const void*, CorrectedArguments> arguments;
};
Corrections& TheCorrections() {
  static Corrections& corrections = *new Corrections;  // used while the process ends
  return corrections;
}

using Json = nlohmann::json;

const Json& FieldOf(const Json& object, const char* name, const char* what) {
  const auto found = object.find(name);
  if (found == object.end()) throw BadInput("hcm: the {} field is missing: {}", name, what);
  return *found;
}

CorrectionRecord RecordOf(uint64_t dmva) {
  CorrectionRecord record;
  if (physical_addresses) {
    record.offset = dmva;
  } else {
    record.kind = 1;
    record.region = static_cast<uint16_t>(SegmentOf(dmva));
    record.offset = SegmentOffset(dmva);
  }
  return record;
}

}  // namespace

void SetPhysicalAddresses(bool physical) { physical_addresses = physical; }

std::optional<CorrectedArguments> TakeCorrectedArguments(const void* output) {
  Corrections& corrections = TheCorrections();
  const std::lock_guard<std::mutex> lock(corrections.mutex);
  auto taken = corrections.arguments.extract(output);
  if (taken.empty()) return std::nullopt;
  return std::move(taken.mapped());
}

namespace {

void Compute(const Hcm& hcm, void* output, const int64_t* addresses, size_t count) {
  if (hcm.records.empty()) {
    throw BadInput(
        "Expect one DCI: the hcm of this host computation has no records, so that there is nothing "
        "to compute; dxp_standalone writes them");
  }
  if (count != hcm.vdci.inputSym_.size()) {
    throw BadInput("the host computation has {} input symbols, and {} addresses are given",
                   hcm.vdci.inputSym_.size(), count);
  }
  auto* bytes = static_cast<uint8_t*>(output);
  const size_t used = hcm.records.size() * sizeof(CorrectionRecord);
  for (size_t i = 0; i < hcm.records.size(); ++i) {
    const CorrectionRecord record =
        RecordOf(static_cast<uint64_t>(addresses[hcm.records[i].symbol]));
    std::memcpy(bytes + i * sizeof record, &record, sizeof record);
  }
  std::memset(bytes + used, 0, AlignUp(used, kStickBytes) - used);
  CorrectedArguments arguments;
  arguments.addresses.assign(addresses, addresses + count);
  arguments.written_bytes.resize(count);
  for (const HcmRecord& record : hcm.records)
    arguments.written_bytes[record.symbol] = record.written_bytes;
  Corrections& corrections = TheCorrections();
  const std::lock_guard<std::mutex> lock(corrections.mutex);
  corrections.arguments[output] = std::move(arguments);
}

}  // namespace
}  // namespace spyre::sdk

void Hcm::importJsonStr(const std::string& text) {
  using spyre::BadInput;
  using spyre::DumpJson;
  nlohmann::json json;
  try {
    json = spyre::SortedJsonOf(text);
  } catch (const nlohmann::json::exception& error) {
    throw BadInput("hcm: {}", error.what());
  }
  if (!json.is_object()) throw BadInput("hcm: an object is expected, and it is {}", DumpJson(json));
  const auto& symbols = spyre::sdk::FieldOf(json, "vdci", "an object with 'inputSym' is expected");
  if (!symbols.is_object())
    throw BadInput("hcm: the vdci field must be an object, and it is {}", DumpJson(symbols));
  vdci.inputSym_.clear();
  records.clear();
  if (const auto names = symbols.find("inputSym"); names != symbols.end()) {
    if (!names->is_array())
      throw BadInput("hcm: the inputSym field must be a list, and it is {}", DumpJson(*names));
    for (const auto& name : *names)
      vdci.inputSym_.push_back(name.is_string() ? name.get<std::string>() : DumpJson(name));
  }
  std::vector<uint64_t> written(vdci.inputSym_.size());
  if (const auto bytes = symbols.find("writtenBytes"); bytes != symbols.end()) {
    const bool known = bytes->is_array() && bytes->size() == vdci.inputSym_.size() &&
                       std::all_of(bytes->begin(), bytes->end(),
                                   [](const auto& number) { return number.is_number_unsigned(); });
    if (!known) {
      throw BadInput("hcm: the writtenBytes field must have {} numbers of bytes, and it is {}",
                     vdci.inputSym_.size(), DumpJson(*bytes));
    }
    written = bytes->get<std::vector<uint64_t>>();
  }
  const auto list = json.find("records");
  if (list == json.end()) return;
  if (!list->is_array())
    throw BadInput("hcm: the records field must be a list, and it is {}", DumpJson(*list));
  for (const auto& record : *list) {
    const auto argument = record.is_object() ? record.find("argument") : record.end();
    const bool known = argument != record.end() && argument->is_number_unsigned() &&
                       argument->get<uint64_t>() < vdci.inputSym_.size();
    if (!known) {
      throw BadInput("hcm: the records field has {}: the number of one of {} arguments is expected",
                     DumpJson(record), vdci.inputSym_.size());
    }
    const auto symbol = argument->get<uint32_t>();
    records.push_back({symbol, written[symbol]});
  }
}

namespace deeptools {

bool buildFastHcmPatchPlan(FastHcmPatchPlan& plan, const Hcm& hcm) {
  plan = {};
  if (hcm.records.empty()) return false;
  const size_t bytes = hcm.records.size() * sizeof(spyre::CorrectionRecord);
  plan.output_size = static_cast<uint32_t>(spyre::AlignUp(bytes, spyre::kStickBytes));
  plan.num_input_symbols = static_cast<uint32_t>(hcm.vdci.inputSym_.size());
  for (size_t i = 0; i < hcm.records.size(); ++i) {
    plan.patches.push_back(
        {static_cast<uint32_t>(i * sizeof(spyre::CorrectionRecord)), hcm.records[i].symbol});
  }
  plan.valid = true;
  return true;
}

bool processComputeOnHostCommandFast(FastHcmPatchPlan& plan, const Hcm& hcm, void* output,
                                     const int64_t* addresses, size_t count) {
  spyre::sdk::Compute(hcm, output, addresses, count);
  return plan.valid;
}

void processComputeOnHostCommand(const Hcm& hcm, void* output, const void* input) {
  if (input == nullptr) {
    spyre::sdk::Compute(hcm, output, nullptr, 0);
    return;
  }
  const auto& addresses = *static_cast<const std::vector<int64_t>*>(input);
  spyre::sdk::Compute(hcm, output, addresses.data(), addresses.size());
}

}  // namespace deeptools
