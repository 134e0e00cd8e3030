// SPDX-License-Identifier: Apache-2.0
#include "cosim/plots/page.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/plots/assets.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::string HtmlText(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

// Inside a script element: nothing in it may end the element.
std::string ScriptText(const Json& data) {
  std::string safe;
  for (const char c : PrintableJson(data)) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string PlotPage(const std::string& title, const char* script, const Json& data) {
  const std::string page = kPageTemplate;
  std::string text;
  size_t begin = 0;
  for (size_t mark = page.find('%'); mark != std::string::npos; mark = page.find('%', begin)) {
    text += page.substr(begin, mark - begin);
    const std::string rest = page.substr(mark, 9);
    if (rest.rfind("%TITLE%", 0) == 0) {
      text += HtmlText(title);
      begin = mark + 7;
    } else if (rest.rfind("%SCRIPT%", 0) == 0) {
      text += std::string(kPlotsScript) + script;
      begin = mark + 8;
    } else if (rest.rfind("%DATA%", 0) == 0) {
      text += ScriptText(data);
      begin = mark + 6;
    } else {
      text += '%';
      begin = mark + 1;
    }
  }
  return text + page.substr(begin);
}

}  // namespace spyre::cosim
