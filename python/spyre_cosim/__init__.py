# SPDX-License-Identifier: Apache-2.0
"""Co-simulation of the IBM Spyre accelerator card, for scripts and notebooks.

``run`` and ``run_many`` run configurations and give results as dictionaries and NumPy arrays. ``Card`` reaches a card, simulated,
served or real, for bring-up scripts: registers, DMA, interrupts, launches. ``contract`` has the registers and the layouts of
ring entries. docs/python.md shows how.
"""

from . import contract
from ._native import DmaBuffer, Kernel, Runtime, Tensor
from ._native import commit as __commit__
from ._native import version as __version__
from .card import Card, Device, Registers, compile_kernel
from .errors import BadInput, DeviceFault, Error, InternalError
from .runs import Outcome, Result, Tensors, configuration, run, run_many

__all__ = [
    "BadInput",
    "Card",
    "Device",
    "DeviceFault",
    "DmaBuffer",
    "Error",
    "InternalError",
    "Kernel",
    "Outcome",
    "Registers",
    "Result",
    "Runtime",
    "Tensor",
    "Tensors",
    "compile_kernel",
    "configuration",
    "contract",
    "run",
    "run_many",
]
