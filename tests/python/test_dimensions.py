# SPDX-License-Identifier: Apache-2.0
"""Axes of PyTorch as named dimensions: what a view groups, what two tensors share, and when a dimension needs two names."""

import unittest

from spyre_cosim._dimensions import ListWriter, Unsupported, axis, flat, regroup, unify


class Dimensions(unittest.TestCase):
    def test_a_view_cuts_and_groups(self):
        axes = [axis(6), axis(64)]
        groups = regroup(axes, [2, 3, 8, 8])
        self.assertEqual([[dim.size for dim in flat(one)] for one in groups], [[2], [3], [8], [8]])
        whole = regroup(groups, [384])
        self.assertEqual([dim.size for dim in flat(whole[0])], [2, 3, 8, 8])
        self.assertEqual([dim.size for dim in flat(axes[1])], [8, 8])
        with self.assertRaises(Unsupported):
            regroup([axis(6)], [4, 1])

    def test_two_axes_become_the_same_dimensions(self):
        whole, parts = axis(64), regroup([axis(64)], [4, 16])
        unify(whole, [dim for one in parts for dim in one])
        self.assertEqual(flat(whole), [dim for one in parts for dim in flat(one)])
        with self.assertRaises(Unsupported):
            unify(axis(6), axis(4))

    def test_a_dimension_has_a_second_name_only_where_one_tensor_would_have_it_twice(self):
        for rows, renames in ((3, 0), (64, 1)):
            writer = ListWriter()
            x, w = writer.given("x", [rows, 64]), writer.given("w", [64, 64])
            unify(x.axes[1], w.axes[0])
            if renames:
                unify(x.axes[0], w.axes[1])
            w = writer.rename(w, w.axes[1], x.axes[0])
            y = writer.append("matmul", [x, w], [x.axes[0], w.axes[1]], dim=x.axes[1])
            text = writer.finish([y])
            self.assertEqual([op["op"] for op in text["ops"]], ["slice"] * renames + ["matmul"])
            self.assertEqual([text["dims"][dim] for dim in text["ops"][-1]["dims"]], [rows, 64])


if __name__ == "__main__":
    unittest.main()
