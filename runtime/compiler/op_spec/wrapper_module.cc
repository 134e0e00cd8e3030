// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/wrapper_module.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"

namespace spyre::compiler {
namespace {

constexpr std::string_view kWrapper = "async_compile.sdsc(";

// None: the text is a bare list.
std::vector<WrapperCall> WrapperCalls(const PySource& source) {
  const std::string& text = source.text();
  std::vector<WrapperCall> calls;
  for (size_t at = text.find(kWrapper); at != std::string::npos; at = text.find(kWrapper, at + 1)) {
    const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    if (text.find('#', line) < at) continue;
    const PyValue name = source.Parse(at + kWrapper.size());
    if (name.kind != PyValue::Kind::kString) {
      source.Fail(at, "sdsc() takes the kernel's name and the list of operations");
    }
    calls.push_back({at, name.text});
  }
  return calls;
}

const WrapperCall& Choose(const PySource& source, const std::vector<WrapperCall>& calls,
                          const std::string& kernel) {
  if (kernel.empty() && calls.size() == 1) return calls.front();
  std::vector<std::string> names;
  names.reserve(calls.size());
  for (const WrapperCall& call : calls) names.push_back(call.kernel);
  if (kernel.empty()) {
    source.Fail(calls[1].offset,
                fmt::format("the file holds {} kernels ({}); --kernel NAME says which",
                            calls.size(), Joined(names, ", ")));
  }
  const WrapperCall* found = nullptr;
  for (const WrapperCall& call : calls) {
    if (call.kernel != kernel) continue;
    if (found != nullptr) source.Fail(call.offset, fmt::format("kernel '{}' again", kernel));
    found = &call;
  }
  if (found != nullptr) return *found;
  throw BadInput("{}: it has no kernel '{}', only {}{}", source.file(), kernel, Joined(names, ", "),
                 DidYouMean(kernel, names));
}

}  // namespace

std::optional<WrapperCall> FindKernel(const PySource& source, const std::string& kernel) {
  const std::vector<WrapperCall> calls = WrapperCalls(source);
  if (!calls.empty()) return Choose(source, calls, kernel);
  if (kernel.empty()) return std::nullopt;
  throw BadInput("{}: a bare list of operations has no kernel '{}'", source.file(), kernel);
}

}  // namespace spyre::compiler
