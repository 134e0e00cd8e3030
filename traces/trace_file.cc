#include "traces/trace_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "traces/text.h"

namespace spyre::trace {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "records are stored as they are in memory");
static_assert(std::is_trivially_copyable_v<Record>);

constexpr std::string_view kMagic = "SPYRETRC";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 64;
constexpr size_t kChecksumBytes = 8;

bool IsJsonObject(std::string_view text) {
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_object();
}

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

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[noreturn]] void Fail(size_t offset, const std::string& problem) const {
    throw Error(fmt::format("{}: offset {}: {}", name_, offset, problem));
  }
  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }

  std::string_view Take(uint64_t size, const char* what) {
    if (size > left()) {
      Fail(offset_, fmt::format("{} needs {} bytes, but only {} are left", what, size, left()));
    }
    const std::string_view taken = bytes_.substr(offset_, static_cast<size_t>(size));
    offset_ += taken.size();
    return taken;
  }
  template <typename T>
  T Number(const char* what) {
    T value;
    std::memcpy(&value, Take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string Text(const char* what) {
    const size_t start = offset_;
    const auto size = Number<uint32_t>(what);
    std::string text(Take(size, what));
    if (!IsPrintable(text)) {
      Fail(start, fmt::format("{} is not printable UTF-8: '{}'", what, Printable(text)));
    }
    return text;
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
  size_t offset_ = 0;
};

struct Counts {
  uint32_t metadata_bytes = 0, tracks = 0, names = 0;
  uint64_t records = 0;
};

Counts DecodeHeader(std::string_view bytes, Decoder& in, Trace& trace) {
  // Enough bytes to tell a foreign file from a short one.
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, std::min(bytes.size(), kMagic.size()))) {
    in.Fail(0, "not a trace file: it does not start with SPYRETRC");
  }
  if (bytes.size() < kHeaderBytes + kChecksumBytes) {
    in.Fail(bytes.size(), fmt::format("truncated: {} bytes, the smallest trace file has {}",
                                      bytes.size(), kHeaderBytes + kChecksumBytes));
  }
  in.Take(kMagic.size(), "magic");
  if (const auto version = in.Number<uint32_t>("version"); version != kVersion) {
    in.Fail(8, fmt::format("version {}; this program reads version {}", version, kVersion));
  }
  if (const auto size = in.Number<uint32_t>("record size"); size != sizeof(Record)) {
    in.Fail(12, fmt::format("records of {} bytes; version 1 has {}", size, sizeof(Record)));
  }
  if (const auto size = in.Number<uint64_t>("file size"); size != bytes.size()) {
    in.Fail(16, fmt::format("{}: the header says {} bytes, the file has {}",
                            size > bytes.size() ? "truncated" : "data after the end", size,
                            bytes.size()));
  }
  trace.digest = in.Number<uint64_t>("digest");
  trace.dropped = in.Number<uint64_t>("dropped records");
  Counts counts;
  counts.metadata_bytes = in.Number<uint32_t>("metadata size");
  counts.tracks = in.Number<uint32_t>("track count");
  counts.names = in.Number<uint32_t>("name count");
  if (in.Number<uint32_t>("reserved word") != 0) in.Fail(52, "the reserved word is not zero");
  counts.records = in.Number<uint64_t>("record count");

  const size_t body = bytes.size() - kChecksumBytes;
  uint64_t stored = 0;
  std::memcpy(&stored, bytes.data() + body, sizeof stored);
  if (const uint64_t computed = XXH3_64bits(bytes.data(), body); computed != stored) {
    in.Fail(body, fmt::format("corrupt: checksum {:016x}, the bytes give {:016x}; the run must be "
                              "traced again",
                              stored, computed));
  }
  return counts;
}

void CheckRecord(const Decoder& in, size_t offset, const Trace& trace, const Record& record) {
  if (record.track >= trace.tracks.size()) {
    in.Fail(offset,
            fmt::format("record on track {}, there are {}", record.track, trace.tracks.size()));
  }
  if (record.name >= trace.names.size()) {
    in.Fail(offset,
            fmt::format("record with name {}, there are {}", record.name, trace.names.size()));
  }
  if (record.end_ps < record.start_ps) {
    in.Fail(offset, fmt::format("record ends at {} ps, before its start at {} ps", record.end_ps,
                                record.start_ps));
  }
  const bool is_single_bit = record.category != 0 && (record.category & (record.category - 1)) == 0;
  if (!is_single_bit || record.category > kStep) {
    in.Fail(offset, fmt::format("record of unknown category {:#x}", record.category));
  }
}

}  // namespace

Trace Snapshot(const Recorder& recorder, std::string metadata) {
  if (!IsJsonObject(metadata)) {
    throw Error(fmt::format("trace metadata must be a JSON object, not '{}'",
                            Printable(metadata.substr(0, 100))));
  }
  return {std::move(metadata), recorder.tracks(),  recorder.names(),
          recorder.Records(),  recorder.dropped(), recorder.Digest()};
}

std::string EncodeTrace(const Trace& trace) {
  Encoder out;
  out.out().reserve(4096 + trace.metadata.size() + trace.records.size() * sizeof(Record));
  out.Bytes(kMagic.data(), kMagic.size());
  out.Number(kVersion);
  out.Number(static_cast<uint32_t>(sizeof(Record)));
  const size_t size_at = out.out().size();
  out.Number(uint64_t{0});
  out.Number(trace.digest);
  out.Number(trace.dropped);
  out.Number(static_cast<uint32_t>(trace.metadata.size()));
  out.Number(static_cast<uint32_t>(trace.tracks.size()));
  out.Number(static_cast<uint32_t>(trace.names.size()));
  out.Number(uint32_t{0});
  out.Number(static_cast<uint64_t>(trace.records.size()));
  out.Bytes(trace.metadata.data(), trace.metadata.size());
  for (const Track& track : trace.tracks) {
    out.Text(track.process);
    out.Text(track.name);
  }
  for (const std::string& name : trace.names) out.Text(name);
  out.out().resize((out.out().size() + 7) / 8 * 8, '\0');
  out.Bytes(trace.records.data(), trace.records.size() * sizeof(Record));
  const uint64_t file_bytes = out.out().size() + kChecksumBytes;
  std::memcpy(out.out().data() + size_at, &file_bytes, sizeof file_bytes);
  out.Number(uint64_t{XXH3_64bits(out.out().data(), out.out().size())});
  return std::move(out.out());
}

Trace DecodeTrace(const std::string& bytes, const std::string& name) {
  Decoder in(bytes, name);
  Trace trace;
  const Counts counts = DecodeHeader(bytes, in, trace);
  trace.metadata = in.Take(counts.metadata_bytes, "metadata");
  if (!IsJsonObject(trace.metadata)) in.Fail(kHeaderBytes, "the metadata is not a JSON object");

  // Counts may lie: nothing is reserved by them, every entry takes its bytes from the file.
  for (uint32_t i = 0; i < counts.tracks; ++i) {
    std::string process = in.Text("track process");
    trace.tracks.push_back({std::move(process), in.Text("track name")});
  }
  for (uint32_t i = 0; i < counts.names; ++i) trace.names.push_back(in.Text("name"));
  for (const char pad : in.Take((8 - in.offset() % 8) % 8, "padding")) {
    if (pad != '\0') in.Fail(in.offset(), "the padding before the records is not zero");
  }

  const size_t records_bytes = in.left() - std::min(in.left(), kChecksumBytes);
  if (counts.records != records_bytes / sizeof(Record) || records_bytes % sizeof(Record) != 0) {
    in.Fail(in.offset(), fmt::format("{} records of {} bytes announced, {} bytes are there",
                                     counts.records, sizeof(Record), records_bytes));
  }
  const size_t first = in.offset();
  trace.records.resize(static_cast<size_t>(counts.records));
  if (records_bytes > 0) {
    std::memcpy(trace.records.data(), in.Take(records_bytes, "records").data(), records_bytes);
  }
  for (size_t i = 0; i < trace.records.size(); ++i) {
    CheckRecord(in, first + i * sizeof(Record), trace, trace.records[i]);
  }
  return trace;
}

void WriteTrace(const Trace& trace, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const std::string bytes = EncodeTrace(trace);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw Error(fmt::format("{}: cannot write the trace: {}", path, std::strerror(errno)));
  }
}

Trace ReadTrace(const std::string& path) {
  // Opening a pipe would wait for its other end.
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    throw Error(fmt::format("{}: cannot read the trace: not a regular file", path));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  char block[1 << 16];
  while (file.read(block, sizeof block), file.gcount() > 0) {
    // A foreign file (a disk image, a device that never ends) is not read to its end.
    const bool is_start = bytes.empty();
    bytes.append(block, static_cast<size_t>(file.gcount()));
    if (is_start && bytes.compare(0, kMagic.size(), kMagic) != 0) break;
  }
  if (!file.is_open() || file.bad()) {
    throw Error(fmt::format("{}: cannot read the trace: {}", path, std::strerror(errno)));
  }
  return DecodeTrace(bytes, path);
}

}  // namespace spyre::trace
