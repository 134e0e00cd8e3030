// SPDX-License-Identifier: Apache-2.0
// Ways to a card, and host memory that it reaches.
#include <contract/registers.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/host_buffer.h"
#include "driver/vfio_transport.h"
#include "driver/vfio_user_transport.h"
#include "python/native/bindings.h"

namespace spyre::python {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;
using driver::FunctionId;

namespace {

SharedTransport Simulated(const std::string& config, const std::vector<std::string>& sets) {
  const cosim::RunConfig run = cosim::LoadConfig(config, sets);
  const cosim::HostTiming timing{run.host.register_write_ns, run.host.register_read_ns,
                                 run.host.interrupt_ns};
  return {new cosim::InProcessTransport(run.card, timing, nullptr), EndUnlocked()};
}

SharedTransport InMachine(const std::string& address) {
  driver::VfioOptions options;
  options.device = address;
  return {new driver::VfioTransport(options), EndUnlocked()};
}

SharedTransport Served(const std::string& path) {
  return {new driver::VfioUserTransport(path), EndUnlocked()};
}

// Memory that the card reaches. It lives as long as anybody looks at it, and keeps the way to the
// card.
class DmaBuffer {
 public:
  DmaBuffer(SharedTransport transport, size_t bytes, FunctionId function)
      : transport_(std::move(transport)) {
    if (bytes == 0) throw BadInput("a DMA buffer of 0 bytes; give it at least 1");
    buffer_ = std::make_unique<driver::HostBuffer>(*transport_, function, bytes);
  }
  driver::HostBuffer& buffer() { return *buffer_; }

 private:
  SharedTransport transport_;  // outlives the buffer
  std::unique_ptr<driver::HostBuffer> buffer_;
};

std::string Wait(driver::Transport& transport, FunctionId function, int vector, double timeout_s) {
  if (!(timeout_s >= 0 && timeout_s <= 1e6))
    throw BadInput("wait for an interrupt: {} s; give it 0 to 1,000,000", timeout_s);
  if (vector < 0 || vector >= kMsiVectors)
    throw BadInput("vector {}: the card has 0 to {}", vector, kMsiVectors - 1);
  const auto timeout_ps = static_cast<uint64_t>(timeout_s * 1e12);
  switch (transport.WaitInterrupt(function, vector, transport.NowPs() + timeout_ps)) {
    case driver::WaitResult::kInterrupt:
      return "interrupt";
    case driver::WaitResult::kDeadline:
      return "deadline";
    default:
      return "stalled";
  }
}

}  // namespace

void AddTransport(py::module_& module) {
  module.def("simulated", Simulated, py::arg("config"), py::arg("sets"), Released());
  module.def("served", Served, py::arg("path"), Released());
  module.def("in_machine", InMachine, py::arg("address"), Released());

  py::class_<driver::Transport, SharedTransport>(module, "Transport")
      .def("config_read", &driver::Transport::ConfigRead, py::arg("function"), py::arg("offset"),
           Released())
      .def("config_write", &driver::Transport::ConfigWrite, py::arg("function"), py::arg("offset"),
           py::arg("value"), Released())
      .def("read32", &driver::Transport::Read32, py::arg("function"), py::arg("bar"),
           py::arg("offset"), Released())
      .def("write32", &driver::Transport::Write32, py::arg("function"), py::arg("bar"),
           py::arg("offset"), py::arg("value"), Released())
      .def("reset", &driver::Transport::Reset, py::arg("function") = 0, Released())
      .def("hot_reset", &driver::Transport::HotReset, Released())
      .def("enable_virtual_functions", &driver::Transport::EnableVirtualFunctions, py::arg("count"),
           Released())
      .def("wait_interrupt", Wait, py::arg("function") = 0, py::arg("vector") = 0,
           py::arg("timeout_s") = 1.0, Released())
      // A property has no guard of its own.
      .def_property_readonly("now_ps", py::cpp_function(&driver::Transport::NowPs, Released()))
      .def("advance", &driver::Transport::Advance, py::arg("picoseconds"), Released())
      .def("diagnose", &driver::Transport::Diagnose, Released());

  py::class_<DmaBuffer, std::shared_ptr<DmaBuffer>>(module, "DmaBuffer", py::buffer_protocol())
      .def(py::init<SharedTransport, size_t, FunctionId>(), py::arg("transport"), py::arg("bytes"),
           py::arg("function") = 0, Released())
      .def_property_readonly("io_address",
                             [](DmaBuffer& buffer) { return buffer.buffer().io_address(); })
      .def("__len__", [](DmaBuffer& buffer) { return buffer.buffer().size(); })
      .def_buffer([](DmaBuffer& buffer) {
        return py::buffer_info(buffer.buffer().data(),
                               static_cast<py::ssize_t>(buffer.buffer().size()));
      });
}

}  // namespace spyre::python
