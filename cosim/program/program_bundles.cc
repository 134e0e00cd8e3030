// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_bundles.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/arguments/bundle_shapes.h"
#include "sdk/kept/kept_bundle.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// "aten.add.Tensor (model.py:12)" of the debug_handle_ in an SDSC file; "": it has none.
std::string OriginOf(const std::string& sdsc) {
  const Json file = JsonIfAny(ReadFile(sdsc, "SDSC file"));
  if (!file.is_object() || file.empty() || !file.begin()->is_object()) return "";
  const Json handle = file.begin()->value("debug_handle_", Json());
  if (!handle.is_object()) return "";
  const Json operation = handle.value("aten_op", Json());
  std::string text = operation.is_string() ? operation.get<std::string>() : "";
  const Json source = handle.value("source", Json());
  if (!source.is_object() || !source.value("file", Json()).is_string()) return text;
  std::string place = std::filesystem::path(source.at("file").get<std::string>()).filename();
  const Json line = source.value("start_line", Json());
  if (line.is_number_integer()) place += fmt::format(":{}", line.get<int64_t>());
  return text.empty() ? place : fmt::format("{} ({})", text, place);
}

}  // namespace

const ProgramBundle* ProgramBundles::Find(const uint8_t* image, uint64_t bytes, std::string& why) {
  const std::string digest = sdk::ProgramDigest(image, bytes);
  const auto known = bundles_.find(digest);
  if (known != bundles_.end()) return known->second.get();
  std::error_code error;
  const std::filesystem::path place = sdk::KeptBundle(out_, digest);
  if (!std::filesystem::is_directory(place, error)) {
    why = "its compiler has not kept its bundle";
    return nullptr;
  }
  auto found = std::make_unique<ProgramBundle>();
  found->compiled = place;
  try {
    compiler::Bundle bundle = compiler::ReadBundle(place);
    const std::vector<compiler::ArgumentUse> uses = compiler::BindSegments(bundle);
    for (const std::string& file : bundle.files) {
      const std::string origin = OriginOf(place / file);
      std::vector<std::string>& origins = found->origins;
      if (!origin.empty() && std::find(origins.begin(), origins.end(), origin) == origins.end())
        origins.push_back(origin);
    }
    const std::vector<ArgumentShape> shapes = ShapesOfImages(bundle, uses);
    found->launched = PlanBundle(BundleSettingsOf(config_), std::move(bundle), shapes).launched;
  } catch (const Error& refused) {
    why = refused.what();
    return nullptr;
  }
  return bundles_.emplace(digest, std::move(found)).first->second.get();
}

}  // namespace spyre::cosim
