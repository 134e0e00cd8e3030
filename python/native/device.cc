// SPDX-License-Identifier: Apache-2.0
// One function of a card with its rings: operations one at a time, and the physical function's
// services.
#include "driver/device.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "driver/physical_function.h"
#include "python/native/arrays.h"
#include "python/native/bindings.h"

namespace spyre::python {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;
using driver::FunctionId;
using Fields = std::map<std::string, uint64_t>;

namespace {

// A driver's device is of one thread at a time; threads of Python take turns here.
class SharedDevice {
 public:
  SharedDevice(SharedTransport transport, FunctionId function, bool interrupts)
      : transport_(std::move(transport)) {
    driver::DeviceOptions options;
    options.interrupts = interrupts;
    device_ = std::make_unique<driver::Device>(*transport_, function, options);
  }
  ~SharedDevice() {
    const Unlocked unlocked;
    device_.reset();
  }
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  template <typename Action>
  auto With(const Action& action) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (device_ == nullptr) throw BadInput("the device has been closed");
    return action(*device_);
  }
  template <typename Action>
  auto WithPhysical(const Action& action) {
    return With([&](driver::Device& device) {
      driver::PhysicalFunction physical(device);
      return action(physical);
    });
  }
  void Close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    device_.reset();
  }

 private:
  SharedTransport transport_;
  std::mutex mutex_;
  std::unique_ptr<driver::Device> device_;
};

// Sets the fields of an entry by name; what is left over names what the entry does not have.
class EntryFields {
 public:
  explicit EntryFields(Fields fields) : fields_(std::move(fields)) {}
  template <typename T>
  void Take(const char* name, T& field) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return;
    field = static_cast<T>(found->second);
    if (field != found->second)
      throw BadInput("{} = {}: the field has {} bits", name, found->second, 8 * sizeof(T));
    fields_.erase(found);
  }
  void Done(const char* entry) const {
    if (fields_.empty()) return;
    throw BadInput("{}: an entry of this function ({}) has no such field", fields_.begin()->first,
                   entry);
  }

 private:
  Fields fields_;
};

driver::Entry EntryOf(bool physical, uint8_t opcode, const Fields& given) {
  EntryFields fields(given);
  if (physical) {
    ControlBlock block;
    block.opcode = opcode;
    fields.Take("flags", block.flags);
    fields.Take("stream", block.stream);
    fields.Take("host_address", block.host_address);
    fields.Take("device_address", block.device_address);
    fields.Take("size_bytes", block.size_bytes);
    fields.Take("program_base", block.program_base);
    fields.Take("program_bytes", block.program_bytes);
    fields.Take("segment_table", block.segment_table);
    fields.Take("value", block.value);
    fields.Take("correlation", block.correlation);
    fields.Done("ControlBlock");
    return block;
  }
  Message message;
  message.opcode = opcode;
  fields.Take("flags", message.flags);
  fields.Take("stream", message.stream);
  fields.Take("device_region", message.device_region);
  fields.Take("host_address", message.host_address);
  fields.Take("device_offset", message.device_offset);
  fields.Take("size_bytes", message.size_bytes);
  fields.Take("program_region", message.program_region);
  fields.Take("program_offset", message.program_offset);
  fields.Take("program_bytes", message.program_bytes);
  fields.Take("value", message.value);
  fields.Take("correlation", message.correlation);
  fields.Done("Message");
  return message;
}

Response Execute(driver::Device& device, uint8_t opcode, const Fields& fields) {
  driver::Entry entry = EntryOf(device.is_physical(), opcode, fields);
  device.queue().Submit(entry);
  return device.queue().Wait();
}

py::dict ToDict(const Response& response) {
  py::dict fields;
  fields["opcode"] = response.opcode;
  fields["status"] = response.status;
  fields["fault_core"] = response.fault_core;
  fields["fault_address"] = response.fault_address;
  fields["stream"] = response.stream;
  fields["sequence"] = response.sequence;
  fields["queued_ps"] = response.queued_ps;
  fields["fetched_ps"] = response.fetched_ps;
  fields["started_ps"] = response.started_ps;
  fields["finished_ps"] = response.finished_ps;
  fields["posted_ps"] = response.posted_ps;
  fields["device_bytes_read"] = response.device_bytes_read;
  fields["device_bytes_written"] = response.device_bytes_written;
  fields["macs"] = response.macs;
  fields["correlation"] = response.correlation;
  return fields;
}

py::dict ExecuteAsDict(SharedDevice& shared, uint8_t opcode, const Fields& fields) {
  Response response;
  {
    const py::gil_scoped_release released;
    response = shared.With([&](driver::Device& device) { return Execute(device, opcode, fields); });
  }
  return ToDict(response);
}

// One copy between the array, in place, and device memory. `place`: the fields of the location.
py::dict Copy(SharedDevice& shared, Opcode opcode, const ArrayBytes& array, Fields place) {
  Response response;
  {
    const py::gil_scoped_release released;
    response = shared.With([&](driver::Device& device) {
      const driver::IoAddress io = device.MapHost(array.data, array.size);
      place["host_address"] = io;
      place["size_bytes"] = array.size;
      try {
        const Response done = Execute(device, static_cast<uint8_t>(opcode), place);
        device.UnmapHost(io);
        return done;
      } catch (const Error&) {
        device.UnmapHost(io);
        throw;
      }
    });
  }
  return ToDict(response);
}

// Copies move bytes. Those of Python objects mean nothing to anybody else, and those of numbers in
// the other byte order would be other numbers to the card.
void RequireNumbers(const py::object& array) {
  const py::object dtype = array.attr("dtype");
  if (py::cast<bool>(dtype.attr("hasobject")))
    throw BadInput("an array of Python objects; give it numbers");
  if (!py::cast<bool>(dtype.attr("isnative"))) {
    throw BadInput(
        "an array of {} has the other byte order than the card and this machine; give it "
        "array.astype(array.dtype.newbyteorder('='))",
        std::string(py::str(dtype)));
  }
  if (py::cast<int64_t>(array.attr("size")) == 0)
    throw BadInput("a copy of an array without elements");
}

py::dict CopyToCard(SharedDevice& device, const py::object& given, const Fields& place) {
  const py::object array = py::module_::import("numpy").attr("asarray")(given);
  RequireNumbers(array);
  const py::object rows = RowsOf(array, array.attr("dtype"));
  return Copy(device, Opcode::DMA_IN, BytesOf(rows, false), place);
}

py::dict CopyFromCard(SharedDevice& device, const py::object& array, const Fields& place) {
  if (!py::isinstance(array, py::module_::import("numpy").attr("ndarray")))
    throw BadInput("a copy from the card fills an array of NumPy; give it one");
  RequireNumbers(array);
  const py::object flags = array.attr("flags");
  if (!py::cast<bool>(flags.attr("c_contiguous")) || !py::cast<bool>(flags.attr("writeable")))
    throw BadInput("a copy from the card needs an array that is contiguous (C) and writable");
  return Copy(device, Opcode::DMA_OUT, BytesOf(array, true), place);
}

py::dict IdentityOf(SharedDevice& shared) {
  const driver::Identity identity =
      shared.With([](driver::Device& device) { return device.identity(); });
  py::dict fields;
  fields["vendor_id"] = identity.vendor_id;
  fields["device_id"] = identity.device_id;
  fields["function"] = identity.function;
  fields["spec_version"] = identity.spec_version;
  fields["cores"] = identity.cores;
  fields["pipelined"] = identity.pipelined;
  fields["memory_bytes"] = identity.memory_bytes;
  fields["region_bytes"] = identity.region_bytes;
  return fields;
}

}  // namespace

void AddDevice(py::module_& module) {
  using Physical = driver::PhysicalFunction;
  py::class_<SharedDevice, std::shared_ptr<SharedDevice>>(module, "Device")
      .def(py::init<SharedTransport, FunctionId, bool>(), py::arg("transport"),
           py::arg("function") = 0, py::arg("interrupts") = true, Released())
      .def("close", &SharedDevice::Close, Released())
      .def(
          "reset", [](SharedDevice& d) { d.With([](auto& device) { device.Reset(); }); },
          Released())
      .def_property_readonly("identity", IdentityOf)
      .def("execute", ExecuteAsDict, py::arg("opcode"), py::arg("fields"))
      .def("copy_to_card", CopyToCard, py::arg("array"), py::arg("place"))
      .def("copy_from_card", CopyFromCard, py::arg("array"), py::arg("place"))
      .def(
          "map_range",
          [](SharedDevice& d, uint64_t base, uint64_t bytes, uint8_t permission) {
            d.WithPhysical([&](Physical& p) { p.MapRange(base, bytes, permission); });
          },
          py::arg("base"), py::arg("bytes"), py::arg("permission") = 7, Released())
      .def(
          "unmap_range",
          [](SharedDevice& d, uint64_t base) {
            d.WithPhysical([&](Physical& p) { p.UnmapRange(base); });
          },
          py::arg("base"), Released())
      .def(
          "enable_virtual_functions",
          [](SharedDevice& d, int count) {
            d.WithPhysical([&](Physical& p) { p.EnableVirtualFunctions(count); });
          },
          py::arg("count"), Released())
      .def(
          "assign_region",
          [](SharedDevice& d, FunctionId vf, int region, uint64_t base, uint64_t bytes) {
            d.WithPhysical([&](Physical& p) { p.AssignRegion(vf, region, base, bytes); });
          },
          py::arg("vf"), py::arg("region"), py::arg("base"), py::arg("bytes"), Released());
}

}  // namespace spyre::python
