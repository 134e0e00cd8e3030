# SPDX-License-Identifier: Apache-2.0
"""spec_gen.py SPEC.toml OUTDIR: writes every form of the register contract.

Nothing is written if the specification is wrong. Files that would not change are left alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from base.specification import run_generator, write_if_changed
from model.contract.generator.access_writer import write_driver_access
from model.contract.generator.cpp_writer import write_cpp_header
from model.contract.generator.firmware_writer import write_firmware_header
from model.contract.generator.markdown_writer import write_markdown
from model.contract.generator.model_writer import write_register_files
from model.contract.generator.python_writer import write_python
from model.contract.generator.spec import read_spec
from model.contract.generator.systemverilog_writer import write_systemverilog
from model.contract.generator.validate import validate

OUTPUTS = {
    "registers.h": write_cpp_header,
    "register_access.h": write_driver_access,
    "register_files.h": write_register_files,
    "spyre_registers.h": write_firmware_header,
    "spyre_pkg.sv": write_systemverilog,
    "registers.md": write_markdown,
    "contract.py": write_python,
}


def generate(spec_path, out):
    spec = read_spec(spec_path)
    validate(spec)
    texts = {name: write(spec) for name, write in OUTPUTS.items()}
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_if_changed(Path(out) / name, text)


if __name__ == "__main__":
    sys.exit(run_generator("spec_gen", "SPEC.toml OUTDIR", generate))
