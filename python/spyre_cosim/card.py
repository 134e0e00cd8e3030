# SPDX-License-Identifier: Apache-2.0
"""A card, function by function and register by register: for bring-up, drivers and experiments."""

from __future__ import annotations

import numbers
from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Type, Union

import numpy as np

from . import _native, contract
from .errors import BadInput, DeviceFault
from .settings import Settings, words


class Registers:
    """The registers of one function in BAR0, by name or by address: ``registers.SCRATCH = 1``, ``registers["SCRATCH"]``.

    The names are those of docs/registers.md; ``contract.REGISTERS`` describes them.
    """

    def __init__(self, transport: _native.Transport, function: int = 0) -> None:
        object.__setattr__(self, "_transport", transport)
        object.__setattr__(self, "_function", function)

    @staticmethod
    def _address(name: Union[str, int]) -> int:
        if isinstance(name, numbers.Integral):
            return int(name)
        if name in contract.REGISTERS:
            return contract.REGISTERS[name].address
        raise BadInput(f"{name}: the card has no register of that name", str(name))

    def __getitem__(self, name: Union[str, int]) -> int:
        return self._transport.read32(self._function, 0, self._address(name))

    def __setitem__(self, name: Union[str, int], value: int) -> None:
        self._transport.write32(self._function, 0, self._address(name), value)

    def __getattr__(self, name: str) -> int:
        if name not in contract.REGISTERS:
            raise AttributeError(f"the card has no register {name}")
        return self[name]

    def __setattr__(self, name: str, value: int) -> None:
        if name not in contract.REGISTERS:
            raise AttributeError(f"the card has no register {name}")
        self[name] = value

    def fields(self, name: str) -> Dict[str, int]:
        """Reads a register and takes it apart."""
        value = self[name]
        return {
            field: value >> lowest & ((1 << width) - 1)
            for field, (lowest, width) in contract.REGISTERS[name].fields.items()
        }


class Device:
    """One function, opened: its rings are set up, and operations run one at a time.

    The physical function (0) takes physical addresses of device memory, of ranges that ``map_range`` has allowed. A virtual
    function takes offsets in one of its regions. Threads may share a device; they take turns.
    """

    def __init__(self, card: "Card", function: int = 0, interrupts: bool = True) -> None:
        self.function = function
        self.registers = card.registers(function)
        self._native = _native.Device(card.transport, function, interrupts)

    @property
    def identity(self) -> Dict[str, Any]:
        """What the function says of itself: IDs, cores, memory, regions."""
        return self._native.identity

    def execute(self, opcode: Union[contract.Opcode, int], **fields: int) -> Dict[str, int]:
        """Runs one operation, by the fields of its entry (docs/registers.md), and returns the response.

        Raises DeviceFault if its status is not OK.
        """
        return self._checked(self._native.execute(int(opcode), fields))

    def nop(self) -> Dict[str, int]:
        """Runs an operation that does nothing, and returns the response."""
        return self.execute(contract.Opcode.NOP)

    def copy_to_card(self, array: np.ndarray, address: int, region: int = 0) -> Dict[str, int]:
        """Copies the bytes of an array, row by row, to device memory; returns the response.

        The byte order of its elements must be that of the machine.
        """
        return self._checked(self._native.copy_to_card(array, self._place(address, region)))

    def copy_from_card(self, array: np.ndarray, address: int, region: int = 0) -> Dict[str, int]:
        """Fills an array, which must be contiguous and writable, from device memory; returns the response."""
        return self._checked(self._native.copy_from_card(array, self._place(address, region)))

    def map_range(self, base: int, size: int, permission: int = 7) -> None:
        """Physical function: its operations may touch these bytes. permission: 1 read, 2 write, 4 execute."""
        self._native.map_range(base, size, permission)

    def unmap_range(self, base: int) -> None:
        """Physical function: takes the range that begins there back."""
        self._native.unmap_range(base)

    def enable_virtual_functions(self, count: int) -> None:
        """Physical function: there are virtual functions 1 to count from now on; with 0 none."""
        self._native.enable_virtual_functions(count)

    def assign_region(self, vf: int, region: int, base: int, size: int) -> None:
        """Physical function: gives bytes of device memory to a region of a virtual function."""
        self._native.assign_region(vf, region, base, size)

    def reset(self) -> None:
        """A function-level reset, after which the device is open again."""
        self._native.reset()

    def close(self) -> None:
        """Stops the rings. Using the device afterwards is BadInput."""
        self._native.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _place(self, address: int, region: int) -> Dict[str, int]:
        if self.function == 0:
            if region != 0:
                raise BadInput(f"region {region}: the physical function has addresses, no regions", "region")
            return {"device_address": address}
        return {"device_offset": address, "device_region": region}

    def _checked(self, response: Dict[str, int]) -> Dict[str, int]:
        status = response["status"]
        if status != contract.Status.OK:
            names = {value.value: value.name for value in contract.Status}
            opcodes = {value.value: value.name for value in contract.Opcode}
            raise DeviceFault(
                f"function {self.function}: {opcodes.get(response['opcode'], response['opcode'])} ended with "
                f"{names.get(status, status)} at {response['fault_address']:#x}",
                f"function {self.function}",
                names.get(status, str(status)),
            )
        return response


class Card:
    """A way to a card: simulated in this process, served by another one, or in this machine.

    ``Card("configs/matmul.toml", {"card.cores": 8})`` simulates one. SystemC elaborates once in a process, so a process can
    simulate one card; runs (``run``) have processes of their own and do not count. ``Card.connect`` and ``Card.open`` give cards
    that are elsewhere, as many as there are.

    Simulated time moves only inside of calls. Threads may share a card.
    """

    def __init__(self, config: str = "", settings: Optional[Settings] = None) -> None:
        self.transport = _native.simulated(str(config), words(settings))

    @classmethod
    def connect(cls, path: str) -> "Card":
        """The card that ``spyre-cosim serve CONFIG --vfio-user PATH`` serves."""
        return cls._of(_native.served(str(path)))

    @classmethod
    def open(cls, address: str) -> "Card":
        """The card with this PCI address in this machine, bound to vfio-pci (docs/vfio.md)."""
        return cls._of(_native.in_machine(address))

    @classmethod
    def _of(cls, transport: _native.Transport) -> "Card":
        card = cls.__new__(cls)
        card.transport = transport
        return card

    def registers(self, function: int = 0) -> Registers:
        """The registers of a function; memory space must be enabled (``Device`` does it)."""
        return Registers(self.transport, function)

    def device(self, function: int = 0, interrupts: bool = True) -> Device:
        """Opens a function: BARs, bus mastering, MSI, rings."""
        return Device(self, function, interrupts)

    def runtime(self, function: int = 0) -> _native.Runtime:
        """Opens a function for tensors and launches. A function has one opener."""
        return _native.Runtime(self.transport, function)

    def config_read(self, offset: int, function: int = 0) -> int:
        """A word of configuration space; all ones if there is no such function."""
        return self.transport.config_read(function, offset)

    def config_write(self, offset: int, value: int, function: int = 0) -> None:
        """Writes a word of configuration space."""
        self.transport.config_write(function, offset, value)

    def read32(self, offset: int, bar: int = 0, function: int = 0) -> int:
        """A word of a BAR; all ones if nothing answers."""
        return self.transport.read32(function, bar, offset)

    def write32(self, offset: int, value: int, bar: int = 0, function: int = 0) -> None:
        """Writes a word of a BAR."""
        self.transport.write32(function, bar, offset, value)

    def dma_buffer(self, size: int, function: int = 0) -> _native.DmaBuffer:
        """Zeroed memory that the card reaches at ``io_address``; ``numpy.frombuffer`` shows it."""
        return _native.DmaBuffer(self.transport, size, function)

    def wait_interrupt(self, vector: int = 0, function: int = 0, timeout_s: float = 1.0) -> str:
        """Waits for an MSI: "interrupt", "deadline" (simulated time), or "stalled": nothing is left that could happen."""
        return self.transport.wait_interrupt(function, vector, timeout_s)

    def reset(self, function: int = 0) -> None:
        """Starts a function-level reset."""
        self.transport.reset(function)

    def hot_reset(self) -> None:
        """Resets the whole card, as the port above it does."""
        self.transport.hot_reset()

    @property
    def now_ps(self) -> int:
        """The card's time in picoseconds."""
        return self.transport.now_ps

    def advance(self, picoseconds: int) -> None:
        """The host works for so long."""
        self.transport.advance(picoseconds)

    def diagnose(self) -> str:
        """Who waits for what in the card."""
        return self.transport.diagnose()


def compile_kernel(op: str, dims: Mapping[str, int], directory: str, cores: int = 32) -> None:
    """Compiles one operation for ``Runtime.load``: ``compile_kernel("add", {"rows": 64, "cols": 1024}, "add")``.

    cores: how many the card has (``Device.identity``), or fewer
    """
    _native.compile(op, dict(dims), str(directory), cores)
