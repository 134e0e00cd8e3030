# SPDX-License-Identifier: Apache-2.0
"""An extension of PyTorch that is built against the SDK drives a launch; PyTorch on the CPU says what is right.

The interpreter is that of build/torch-venv (./setup.sh --torch). SPYRE_SDK: the SDK; SPYRE_BUNDLES: tests/data/bundles.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import torch
from torch.utils import cpp_extension

SDK = pathlib.Path(os.environ["SPYRE_SDK"])
BUNDLES = pathlib.Path(os.environ["SPYRE_BUNDLES"])
PROGRAM_BASE = 7 << 34


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    return cpp_extension.load(
        name="spyre_sdk_extension",
        sources=[str(pathlib.Path(__file__).with_name("extension.cc"))],
        extra_include_paths=[str(SDK / "include")],
        extra_cflags=["-std=c++20", "-O0"],
        extra_ldflags=[f"-L{SDK / 'lib'}", "-lflex", f"-Wl,-rpath,{SDK / 'lib'}"],
        build_directory=str(tmp_path_factory.mktemp("extension")),
    )


@pytest.fixture
def add(extension, tmp_path):
    """launch(a, b, out, addresses=...): the committed bundle of an addition, compiled by dxp_standalone."""
    directory = tmp_path / "add"
    shutil.copytree(BUNDLES / "symbolic_args/add_64x128_rows4/flat", directory)
    subprocess.run([SDK / "bin/dxp_standalone", "-d", directory], check=True)
    code = json.loads((directory / "spyreCodeDir/spyrecode.json").read_text())
    host, transfer, *computes = [step["properties"] for step in code["JobExecPlan"]]
    init = code["JobPreparationPlan"][1]["properties"]
    kernel = extension.CardKernel(
        (directory / "spyreCodeDir" / init["init_bin_file"]).read_bytes(),
        int(code["JobPreparationPlan"][0]["properties"]["size"]),
        json.dumps(host["hcm"]),
        int(host["size"]),
    )
    offsets = [int(step["job_bin_ptr"]) - PROGRAM_BASE for step in computes]
    return lambda tensors: kernel.launch(tensors, int(transfer["dev_ptr"]) - PROGRAM_BASE, offsets, "add")


def test_an_addition_is_that_of_pytorch(extension, add):
    torch.manual_seed(169)
    a, b = (torch.randn(64, 128, dtype=torch.float16) for _ in range(2))
    tensors = [extension.CardTensor(64, 128) for _ in range(3)]
    tensors[0].write(a)
    tensors[1].write(b)
    add(tensors)
    result = tensors[2].read()
    # The card has 9 bits of fraction: three roundings of at most half a unit each.
    torch.testing.assert_close(result, a + b, rtol=2**-9, atol=2**-8)
    assert not torch.equal(result, torch.zeros_like(result))


def test_what_the_sdk_refuses_is_an_exception_of_python(extension, add):
    with pytest.raises(RuntimeError, match="3 input symbols, and 1 addresses"):
        add([extension.CardTensor(64, 128)])
    extension.synchronize()  # the card goes on
