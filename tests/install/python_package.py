# SPDX-License-Identifier: Apache-2.0
"""What examples/python/sweep.py drew, and a run with blocks of RTL, by the package that is installed."""

import matplotlib.image
import numpy as np

import spyre_cosim as sc

picture = matplotlib.image.imread("sweep.png")
assert picture.shape == (480, 720, 4), picture.shape
blue = (picture[..., 2] > 0.6) & (picture[..., 0] < 0.3)
assert 200 < np.count_nonzero(blue) < 20000, "a line is drawn"
assert len(np.unique(np.nonzero(blue)[1])) > 400, "from the first point to the last"

RTL = {"card.control.fidelity": "rtl", "card.management.fidelity": "rtl"}
assert sc.run(settings={"workload.op": "neg", "workload.rows": 64, "workload.cols": 64, **RTL}).verified
print(sc.__file__)
