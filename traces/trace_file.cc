// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <utility>

#include "base/files.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

class Encoder {
 public:
  template <typename T>
  void Number(T value) {
    Bytes(&value, sizeof value);
  }
  void Bytes(const void* data, size_t size) {
    if (size > 0) out_.append(static_cast<const char*>(data), size);
  }
  void Text(const std::string& text) {
    Number(static_cast<uint32_t>(text.size()));
    Bytes(text.data(), text.size());
  }
  std::string& out() { return out_; }

 private:
  std::string out_;
};

}  // namespace

Trace Snapshot(const Recorder& recorder, std::string metadata) {
  if (!IsMetadata(metadata)) {
    throw Error(fmt::format("trace metadata must be a JSON object, not '{}'",
                            Printable(metadata.substr(0, 100))));
  }
  return {std::move(metadata), recorder.tracks(),        recorder.names(), recorder.Records(),
          recorder.dropped(),  recorder.whole_from_ps(), recorder.Digest()};
}

std::string EncodeTrace(const Trace& trace) {
  Encoder out;
  out.out().reserve(4096 + trace.metadata.size() + trace.records.size() * sizeof(Record));
  out.Bytes(kTraceMagic.data(), kTraceMagic.size());
  out.Number(kTraceVersion);
  out.Number(static_cast<uint32_t>(sizeof(Record)));
  const size_t size_at = out.out().size();
  out.Number(uint64_t{0});
  out.Number(trace.digest);
  out.Number(trace.dropped);
  out.Number(static_cast<uint32_t>(trace.metadata.size()));
  out.Number(static_cast<uint32_t>(trace.tracks.size()));
  out.Number(static_cast<uint32_t>(trace.names.size()));
  const bool is_part = trace.dropped > 0;
  out.Number(static_cast<uint32_t>(is_part ? sizeof trace.whole_from_ps : 0));
  out.Number(static_cast<uint64_t>(trace.records.size()));
  if (is_part) out.Number(trace.whole_from_ps);
  out.Bytes(trace.metadata.data(), trace.metadata.size());
  for (const Track& track : trace.tracks) {
    out.Text(track.process);
    out.Text(track.name);
  }
  for (const std::string& name : trace.names) out.Text(name);
  out.out().resize((out.out().size() + 7) / 8 * 8, '\0');
  out.Bytes(trace.records.data(), trace.records.size() * sizeof(Record));
  const uint64_t file_bytes = out.out().size() + kTraceChecksumBytes;
  std::memcpy(out.out().data() + size_at, &file_bytes, sizeof file_bytes);
  out.Number(uint64_t{XXH3_64bits(out.out().data(), out.out().size())});
  return std::move(out.out());
}

void WriteTrace(const Trace& trace, const std::string& path) {
  WriteFile(path, EncodeTrace(trace), "trace");
}

}  // namespace spyre::trace
