// SPDX-License-Identifier: Apache-2.0
// The native half of the Python package spyre_cosim (docs/python.md). Every function that may take
// time gives up Python's lock meanwhile; callbacks take it again. What needs another object keeps
// it alive. Errors: spyre::Error becomes the exception of its kind (python/spyre_cosim/errors.py).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "driver/transport.h"

namespace spyre::python {

// Owns the way to a card. Whatever is opened on it holds one too.
using SharedTransport = std::shared_ptr<driver::Transport>;

// Without Python's lock, if this thread has it: for destructors, which run with it or without.
class Unlocked {
 public:
  Unlocked() : saved_(PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (saved_ != nullptr) PyEval_RestoreThread(saved_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* saved_;
};

// The deleter of shared pointers to objects whose destructor may wait for other threads.
struct EndUnlocked {
  template <typename T>
  void operator()(T* object) const {
    const Unlocked unlocked;
    delete object;
  }
};

void AddErrors(pybind11::module_& module);
void AddTransport(pybind11::module_& module);
void AddDevice(pybind11::module_& module);
void AddRuntime(pybind11::module_& module);
void AddSession(pybind11::module_& module);

}  // namespace spyre::python
