// SPDX-License-Identifier: Apache-2.0
#include "cosim/tensors/npy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 64 << 10;  // NumPy writes 128; a longer one is not an array
constexpr size_t kMaxRank = 32;               // NumPy's own limit
// Half of the card's memory; the head, and the shape that is asked for, bound what is read.
constexpr uint64_t kMaxFileBytes = 1ull << 36;

constexpr std::array<std::pair<const char*, const char*>, 12> kTypes = {{{"f2", "float16"},
                                                                         {"f4", "float32"},
                                                                         {"f8", "float64"},
                                                                         {"i1", "int8"},
                                                                         {"i2", "int16"},
                                                                         {"i4", "int32"},
                                                                         {"i8", "int64"},
                                                                         {"u1", "uint8"},
                                                                         {"u2", "uint16"},
                                                                         {"u4", "uint32"},
                                                                         {"u8", "uint64"},
                                                                         {"b1", "bool"}}};

bool IsKnownType(const std::string& dtype) {
  return AnyFits(kTypes, [&](auto& type) { return dtype == type.first; });
}

int64_t ElementBytes(const std::string& dtype) { return dtype[1] - '0'; }

// The header is a Python dictionary literal; this reads exactly the subset that NumPy writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyArray Parse() {
    NpyArray array;
    bool have_descr = false, have_order = false, have_shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = ReadString();
      Expect(':');
      if (key == "descr" && !have_descr) {
        array.dtype = ReadType();
        have_descr = true;
      } else if (key == "fortran_order" && !have_order) {
        if (ReadBool()) {
          throw BadInput(
              "{}: the array is in Fortran order; C order is needed: save "
              "numpy.ascontiguousarray(x)",
              path_);
        }
        have_order = true;
      } else if (key == "shape" && !have_shape) {
        array.shape = ReadShape();
        have_shape = true;
      } else {
        Fail(fmt::format("unexpected or repeated key '{}'", key));
      }
      if (!Accept(',') && Peek() != '}') Fail("',' or '}' expected");
    }
    Skip();
    if (at_ != text_.size()) Fail("text after the dictionary");
    if (!have_descr || !have_order || !have_shape)
      Fail("'descr', 'fortran_order' and 'shape' are needed");
    return array;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw BadInput("{}: bad .npy header at byte {}: {}", path_, at_, what);
  }
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char Peek() {
    Skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Fail(fmt::format("'{}' expected", c));
  }
  bool AcceptWord(std::string_view word) {
    Skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string ReadString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') Fail("a quoted string expected");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Fail("string without an end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string ReadType() {
    if (Peek() == '[') {
      throw BadInput("{}: structured arrays cannot be tensors; save one plain array", path_);
    }
    const std::string descr = ReadString();
    std::string type = descr.size() == 3 ? descr.substr(1) : "";
    if (!IsKnownType(type)) {
      throw BadInput("{}: type '{}' is not supported; float16 ('<f2') is what tensors need", path_,
                     descr);
    }
    if (descr[0] == '>') {
      throw BadInput("{}: type '{}' is big endian; save x.astype('<{}')", path_, descr, type);
    }
    if (descr[0] != '<' && descr[0] != '|' && descr[0] != '=')
      Fail("byte order '<' or '|' expected");
    return type;
  }
  bool ReadBool() {
    if (AcceptWord("True")) return true;
    if (AcceptWord("False")) return false;
    Fail("True or False expected");
  }
  std::vector<int64_t> ReadShape() {
    std::vector<int64_t> shape;
    Expect('(');
    while (!Accept(')')) {
      if (shape.size() == kMaxRank) Fail(fmt::format("more than {} dimensions", kMaxRank));
      shape.push_back(ReadSize());
      if (!Accept(',') && Peek() != ')') Fail("',' or ')' expected");
    }
    return shape;
  }
  int64_t ReadSize() {
    const char first = Peek();
    if (first < '0' || first > '9') Fail("a dimension (a whole number, 0 or more) expected");
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (value > (std::numeric_limits<int64_t>::max() - 9) / 10) Fail("dimension too large");
      value = value * 10 + (text_[at_++] - '0');
    }
    return value;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

}  // namespace

int64_t NpyArray::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::string NpyTypeName(const std::string& dtype) {
  for (const auto& [name, text] : kTypes)
    if (dtype == name) return text;
  return dtype;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

namespace {

// What stands before the data.
struct Head {
  NpyArray array;      // without its data
  size_t data_at = 0;  // in the file
};

// start: the first bytes of a file that has file_bytes.
Head ParseHead(std::string_view start, uint64_t file_bytes, const std::string& path) {
  if (start.size() < 10 || start.substr(0, 6) != kMagic) {
    throw BadInput("{}: not a .npy file (the first bytes must be \\x93NUMPY)", path);
  }
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(start[at]); };
  const int major = byte(6);
  if (major != 1 && major != 2) {
    throw BadInput("{}: .npy version {}.{} is not supported; 1.0 and 2.0 are", path, major,
                   byte(7));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t header_at = 8 + length_bytes;
  if (start.size() < header_at) throw BadInput("{}: file ends inside the .npy header", path);
  size_t header_bytes = 0;
  for (size_t i = 0; i < length_bytes; ++i) header_bytes |= size_t{byte(8 + i)} << (8 * i);
  if (header_bytes > kMaxHeaderBytes || header_bytes > start.size() - header_at) {
    throw BadInput("{}: the .npy header claims {} bytes, the file has {}", path, header_bytes,
                   file_bytes - header_at);
  }

  Head head{HeaderParser(start.substr(header_at, header_bytes), path).Parse(),
            header_at + header_bytes};
  const NpyArray& array = head.array;
  const uint64_t have = file_bytes - head.data_at;
  uint64_t need = ElementBytes(array.dtype);
  bool empty = false;
  for (const int64_t size : array.shape) empty |= size == 0;
  for (const int64_t size : array.shape) {
    if (!empty && __builtin_mul_overflow(need, static_cast<uint64_t>(size), &need)) {
      throw BadInput("{}: shape {} is larger than any file", path, ShapeText(array.shape));
    }
  }
  if (empty) need = 0;
  if (need != have) {
    throw BadInput("{}: shape {} of {} needs {} bytes of data, the file has {}", path,
                   ShapeText(array.shape), NpyTypeName(array.dtype), need, have);
  }
  return head;
}

void RequireFit(const NpyArray& array, const std::string& path, const std::string& what,
                const std::string& dtype, const std::vector<int64_t>& shape) {
  if (array.dtype != dtype) {
    throw BadInput("{}: {} must be {}, the file has {}: save x.astype(numpy.{})", path, what,
                   NpyTypeName(dtype), NpyTypeName(array.dtype), NpyTypeName(dtype));
  }
  if (array.shape.size() != shape.size()) {
    throw BadInput("{}: {} must have {} dimensions {}, the file has {} {}", path, what,
                   shape.size(), ShapeText(shape), array.shape.size(), ShapeText(array.shape));
  }
  if (array.shape != shape) {
    throw BadInput("{}: {} must have shape {}, the file has {}", path, what, ShapeText(shape),
                   ShapeText(array.shape));
  }
}

// Memory is taken when the head, and what `check` says of it, are right.
template <typename Check>
NpyArray ReadData(const std::string& path, Check check) {
  InputFile file = OpenFile(path, "tensor", kMaxFileBytes);
  std::string start(std::min<uint64_t>(file.size_bytes, kMaxHeaderBytes + 12), '\0');
  file.stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  Head head = ParseHead(start, file.size_bytes, path);
  check(head.array);
  head.array.data.resize(file.size_bytes - head.data_at);
  file.stream.seekg(static_cast<std::streamoff>(head.data_at));
  file.stream.read(reinterpret_cast<char*>(head.array.data.data()),
                   static_cast<std::streamsize>(head.array.data.size()));
  if (!file.stream) throw BadInput("{}: cannot read the tensor: {}", path, std::strerror(errno));
  return std::move(head.array);
}

}  // namespace

NpyArray ParseNpy(const std::vector<uint8_t>& file, const std::string& path) {
  Head head =
      ParseHead({reinterpret_cast<const char*>(file.data()), file.size()}, file.size(), path);
  head.array.data.assign(file.begin() + static_cast<ptrdiff_t>(head.data_at), file.end());
  return std::move(head.array);
}

NpyArray ReadNpy(const std::string& path) {
  return ReadData(path, [](const NpyArray&) {});
}

NpyArray ReadNpy(const std::string& path, const std::string& what, const std::string& dtype,
                 const std::vector<int64_t>& shape) {
  return ReadData(path,
                  [&](const NpyArray& array) { RequireFit(array, path, what, dtype, shape); });
}

void WriteNpy(const std::string& path, const std::string& dtype, const std::vector<int64_t>& shape,
              const void* data) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  const char* order = ElementBytes(dtype) == 1 ? "|" : "<";
  const std::string sizes = ShapeText(shape);
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, dtype,
                  sizes.substr(1, sizes.size() - 2), shape.size() == 1 ? "," : "");
  // Data starts at a multiple of 64 bytes, as the format asks, after a final newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  OutputFile file(path, "file");
  std::ostream& out = file.stream();
  out.write(kMagic.data(), kMagic.size());
  const char version_and_size[4] = {1, 0, static_cast<char>(header.size() & 0xFF),
                                    static_cast<char>(header.size() >> 8)};
  out.write(version_and_size, sizeof version_and_size);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  out.write(static_cast<const char*>(data), elements * ElementBytes(dtype));
  file.Commit();
}

}  // namespace spyre::cosim
