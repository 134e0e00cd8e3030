// SPDX-License-Identifier: Apache-2.0
// TOML to Spec: each entry on its own (keys, kinds, ranges, spelling of names).
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <set>

#include "base/error.h"
#include "model/contract/generator/spec.h"

namespace spyre::generator {
namespace {

bool IsName(std::string_view name) {
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

// One table of the file, with the words that name it in messages.
class Entry {
 public:
  Entry(std::string file, std::string what, const toml::table& table,
        std::initializer_list<std::string_view> keys)
      : file_(std::move(file)), what_(std::move(what)), table_(table) {
    if (const auto name = table["name"].value<std::string>()) {
      what_ += " " + *name;
      if (!IsName(*name)) throw Bad("name is not an identifier");
    }
    const std::set<std::string_view> known(keys);
    for (const auto& [key, value] : table) {
      if (known.count(key.str()) == 0) {
        throw Bad(
            fmt::format("unknown key '{}'; known keys: {}", key.str(), fmt::join(keys, ", ")));
      }
    }
  }

  Error Bad(const std::string& message) const {
    return BadInput("{}:{}: {}: {}", file_, table_.source().begin.line, what_, message);
  }

  bool Has(std::string_view key) const { return table_.contains(key); }

  std::string Text(std::string_view key) const {
    const auto value = table_[key].value_exact<std::string>();
    if (!value) throw Bad(fmt::format("'{}' is missing or not a string", key));
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (std::any_of(value->begin(), value->end(), is_control)) {
      throw Bad(fmt::format("'{}' has a control character; it must be one line", key));
    }
    return *value;
  }

  uint64_t Number(std::string_view key, uint64_t limit) const {
    const auto value = table_[key].value_exact<int64_t>();
    if (!value) throw Bad(fmt::format("'{}' is missing or not an integer", key));
    if (*value < 0 || static_cast<uint64_t>(*value) > limit) {
      throw Bad(fmt::format("'{}' is {}; it must be 0 to {:#x}", key, *value, limit));
    }
    return static_cast<uint64_t>(*value);
  }
  uint32_t Number32(std::string_view key) const {
    return static_cast<uint32_t>(Number(key, 0xFFFFFFFFu));
  }

  bool Flag(std::string_view key) const {
    if (!Has(key)) return false;
    const auto value = table_[key].value_exact<bool>();
    if (!value) throw Bad(fmt::format("'{}' is not true or false", key));
    return *value;
  }

  unsigned TypeBits() const {
    const std::string type = Text("type");
    for (unsigned bits : {8u, 16u, 32u, 64u}) {
      if (type == fmt::format("u{}", bits)) return bits;
    }
    throw Bad(fmt::format("unknown type '{}'; types: u8, u16, u32, u64", type));
  }

  // Calls visit(entry) for each table of the array `key`.
  template <class Visit>
  void Each(std::string_view key, const std::string& what,
            std::initializer_list<std::string_view> keys, Visit visit) const {
    if (!Has(key)) return;
    const toml::array* array = table_[key].as_array();
    if (array == nullptr) throw Bad(fmt::format("'{}' is not an array of tables", key));
    for (const toml::node& node : *array) {
      const toml::table* table = node.as_table();
      if (table == nullptr) throw Bad(fmt::format("'{}' has an element that is not a table", key));
      visit(Entry(file_, what, *table, keys));
    }
  }

  const std::string& what() const { return what_; }
  const std::string& file() const { return file_; }
  const toml::table& table() const { return table_; }

 private:
  std::string file_;
  std::string what_;
  const toml::table& table_;
};

Access ReadAccess(const Entry& entry) {
  const std::string text = entry.Text("access");
  for (Access access : {Access::kRo, Access::kRw, Access::kRw1c, Access::kWo, Access::kRc}) {
    if (text == AccessName(access)) return access;
  }
  throw entry.Bad(fmt::format("unknown access kind '{}'; kinds: RO, RW, RW1C, WO, RC", text));
}

Field ReadField(const Entry& entry) {
  Field field;
  field.name = entry.Text("name");
  field.description = entry.Text("description");
  const std::string bits = entry.Text("bits");
  const size_t colon = bits.find(':');
  const auto number = [&](const std::string& text) {
    const bool digits = !text.empty() && text.size() <= 2 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoul(text) > 31) {
      throw entry.Bad(fmt::format("bits '{}' are not \"msb:lsb\" within 31:0", bits));
    }
    return static_cast<unsigned>(std::stoul(text));
  };
  field.msb = number(bits.substr(0, colon));
  field.lsb = number(colon == std::string::npos ? std::string() : bits.substr(colon + 1));
  if (field.msb < field.lsb) {
    throw entry.Bad(fmt::format("bits '{}' are not in the order msb:lsb", bits));
  }
  return field;
}

Block ReadBlock(const Entry& entry) {
  Block block;
  block.name = entry.Text("name");
  block.description = entry.Text("description");
  block.base = entry.Number32("base");
  const std::string scope = entry.Text("scope");
  if (scope != "all" && scope != "pf" && scope != "controller") {
    throw entry.Bad(fmt::format("unknown scope '{}'; scopes: all, pf, controller", scope));
  }
  block.scope = scope == "all" ? Scope::kAll : scope == "pf" ? Scope::kPf : Scope::kController;
  entry.Each("registers", fmt::format("block {}: register", block.name),
             {"name", "offset", "access", "reset", "dynamic", "description", "fields"},
             [&](const Entry& item) {
               Register reg;
               reg.name = item.Text("name");
               reg.description = item.Text("description");
               reg.offset = item.Number32("offset");
               reg.access = ReadAccess(item);
               reg.reset = item.Number32("reset");
               reg.dynamic = item.Flag("dynamic");
               const uint64_t address = uint64_t{block.base} + reg.offset;
               if (address > 0xFFFFFFFFu) throw item.Bad("offset is beyond 32 bits");
               reg.address = static_cast<uint32_t>(address);
               item.Each("fields", item.what() + ": field", {"name", "bits", "description"},
                         [&](const Entry& field) { reg.fields.push_back(ReadField(field)); });
               block.registers.push_back(std::move(reg));
             });
  return block;
}

Enum ReadEnum(const Entry& entry) {
  Enum result{entry.Text("name"), entry.Text("description"), entry.TypeBits(), {}};
  entry.Each(
      "values", entry.what() + ": value", {"name", "value", "description"}, [&](const Entry& item) {
        const uint64_t limit = result.bits == 64 ? INT64_MAX : (uint64_t{1} << result.bits) - 1;
        result.values.push_back(
            {item.Text("name"), item.Text("description"), item.Number("value", limit)});
      });
  return result;
}

Constant ReadConstant(const Entry& entry) {
  Constant constant{entry.Text("name"), entry.Text("description"), entry.TypeBits(), 0};
  const uint64_t limit = constant.bits == 64 ? INT64_MAX : (uint64_t{1} << constant.bits) - 1;
  constant.value = entry.Number("value", limit);
  return constant;
}

Layout ReadLayout(const Entry& entry) {
  Layout layout;
  layout.name = entry.Text("name");
  layout.description = entry.Text("description");
  layout.size = static_cast<unsigned>(entry.Number("size", 4096));
  entry.Each("fields", entry.what() + ": field", {"name", "offset", "type", "count", "description"},
             [&](const Entry& item) {
               LayoutField field;
               field.name = item.Text("name");
               field.description = item.Text("description");
               field.offset = static_cast<unsigned>(item.Number("offset", 4096));
               field.bits = item.TypeBits();
               if (item.Has("count")) {
                 field.count = static_cast<unsigned>(item.Number("count", 4096));
                 if (field.count == 0) throw item.Bad("'count' is 0; leave it out for a scalar");
               }
               layout.fields.push_back(std::move(field));
             });
  return layout;
}

Pci ReadPci(const Entry& root) {
  const toml::table* table = root.table()["pci"].as_table();
  if (table == nullptr) throw root.Bad("table [pci] is missing");
  const Entry entry(root.file(), "pci", *table,
                    {"vendor_id", "pf_device_id", "vf_device_id", "revision", "class_code",
                     "msi_vectors", "total_vfs", "vf_bar0_size"});
  Pci pci;
  pci.vendor_id = static_cast<uint32_t>(entry.Number("vendor_id", 0xFFFF));
  pci.pf_device_id = static_cast<uint32_t>(entry.Number("pf_device_id", 0xFFFF));
  pci.vf_device_id = static_cast<uint32_t>(entry.Number("vf_device_id", 0xFFFF));
  pci.revision = static_cast<uint32_t>(entry.Number("revision", 0xFF));
  pci.class_code = static_cast<uint32_t>(entry.Number("class_code", 0xFFFFFF));
  pci.msi_vectors = static_cast<uint32_t>(entry.Number("msi_vectors", 32));
  pci.total_vfs = static_cast<uint32_t>(entry.Number("total_vfs", 0xFFFF));
  pci.vf_bar0_size = entry.Number("vf_bar0_size", uint64_t{1} << 40);
  return pci;
}

}  // namespace

Spec ReadSpec(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw BadInput("{}: cannot be opened; give the path of a register spec", path);
  toml::table table;
  try {
    table = toml::parse(stream, path);
  } catch (const toml::parse_error& error) {
    throw BadInput("{}:{}: {}", path, error.source().begin.line, error.description());
  }
  const Entry root(path, "spec", table,
                   {"version", "name", "pci", "bar", "enum", "layout", "constant", "block"});
  Spec spec;
  spec.name = root.Text("name");
  spec.version = root.Number32("version");
  spec.pci = ReadPci(root);
  root.Each("bar", "bar", {"index", "size", "description"}, [&](const Entry& entry) {
    spec.bars.push_back({static_cast<unsigned>(entry.Number("index", 5)),
                         entry.Number("size", uint64_t{1} << 48), entry.Text("description")});
  });
  root.Each("enum", "enum", {"name", "type", "description", "values"},
            [&](const Entry& entry) { spec.enums.push_back(ReadEnum(entry)); });
  root.Each("layout", "layout", {"name", "size", "description", "fields"},
            [&](const Entry& entry) { spec.layouts.push_back(ReadLayout(entry)); });
  root.Each("block", "block", {"name", "base", "scope", "description", "registers"},
            [&](const Entry& entry) {
              Block block = ReadBlock(entry);
              const bool controller = block.scope == Scope::kController;
              (controller ? spec.controller_blocks : spec.blocks).push_back(std::move(block));
            });
  root.Each("constant", "constant", {"name", "type", "value", "description"},
            [&](const Entry& entry) { spec.constants.push_back(ReadConstant(entry)); });

  const auto by_base = [](const Block& a, const Block& b) { return a.base < b.base; };
  for (std::vector<Block>* blocks : {&spec.blocks, &spec.controller_blocks}) {
    std::stable_sort(blocks->begin(), blocks->end(), by_base);
    for (Block& block : *blocks) {
      std::stable_sort(block.registers.begin(), block.registers.end(),
                       [](const Register& a, const Register& b) { return a.offset < b.offset; });
    }
  }
  Validate(spec);
  return spec;
}

}  // namespace spyre::generator
