// SPDX-License-Identifier: Apache-2.0
// The part of Python's syntax in which compiler front ends write plain data: constructor calls with
// keyword arguments, lists, tuples, dicts, strings, numbers, True, False, None and dotted names.
// Reads it as a tree of values that know where they stand. Plain data, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::compiler {

struct PyKeyword;

struct PyValue {
  // kBigInteger: digits beyond 64 bits, in `text`.
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInteger,
    kBigInteger,
    kFloat,
    kString,
    kName,
    kCall,
    kList,
    kTuple,
    kDict
  };

  Kind kind = Kind::kNone;
  size_t offset = 0;  // in the source
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;                  // kFloat, and the integers as well
  std::string text;                 // kString: its value; kName, kCall: "DataFormats.SEN169_FP16"
  std::vector<PyValue> items;       // elements; kDict: key, value, key, value; kCall: positional
  std::vector<PyKeyword> keywords;  // kCall
};
using PyKind = PyValue::Kind;

struct PyKeyword {
  std::string name;
  size_t offset = 0;
  PyValue value;
};

std::string Describe(const PyValue& value);  // "the list", "the name DataFormats.X", "3"

// A text with the name that messages give it. Offsets become lines and columns, both from 1.
class PySource {
 public:
  PySource(const std::string& text, std::string file) : text_(text), file_(std::move(file)) {}

  // The value at `begin`, behind blanks and comments; `end` becomes the offset behind it. Throws
  // BadInput with file, line, column and what was expected; also for nesting deeper than 64 levels.
  PyValue Parse(size_t begin, size_t* end = nullptr) const;
  // Behind blanks, comments and line ends.
  size_t SkipBlanks(size_t offset) const;

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }
  std::string Where(size_t offset) const;  // "k.py:3:14"
  [[noreturn]] void Fail(size_t offset, const std::string& message) const;

 private:
  const std::string& text_;
  std::string file_;
};

}  // namespace spyre::compiler
