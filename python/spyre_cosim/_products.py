# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch that sum products, also over windows, as operations of a list."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ._dimensions import Unsupported, Value, elements, regroup, unify
from ._choices import Choices


# Columns of which sticks cannot be divided among the cores would all be one core's, and that reaches no more than so many elements:
# of a vocabulary such as 49,155, what is left of whole sticks for all cores is a matmul of its own.
STICK, CORES = 64, 32
MOST_OF_A_CORE = 2 ** 27


def pair(one: Any) -> List[int]:
    """Of rows and of columns."""
    return [one] * 2 if isinstance(one, int) else list(one) * (3 - len(one))


class Products(Choices):
    # a [.., M, K] by b [.., K, N].
    def matmul(self, a: Value, b: Value) -> Value:
        vector_a, vector_b = len(a.axes) == 1, len(b.axes) == 1
        if vector_a:
            a = a.of([[]] + a.axes)
        if vector_b:
            b = b.of(b.axes + [[]])
        b = self.list.rename(b, b.axes[-2], [dim for one in a.axes[:-1] for dim in one])
        unify(a.axes[-1], b.axes[-2])
        batch = self.broadcast([a.of(a.axes[:-2]), b.of(b.axes[:-2])])
        columns = b.axes[-1]
        b = self.list.rename(b, columns, [dim for one in a.axes for dim in one])
        columns = b.axes[-1]
        if not a.axes[-1]:
            product = self.elementwise("mul", [a, b])
        else:
            product = self.list.append("matmul", [a, b], batch + [a.axes[-2], columns], dim=a.axes[-1])
        # A residual makes the columns of the result the contracted dimension: the result has them under a name of its own.
        beside = [dim for value in (a, b) for one in value.axes for dim in one if dim not in columns]
        product = self.list.rename(product, columns, beside)
        axes = list(product.axes)
        if vector_b:
            del axes[-1]
        if vector_a:
            del axes[-1 if vector_b else -2]
        return product.of(axes)

    def linear(self, x: Value, weight: Value, bias: Optional[Value] = None) -> Value:
        rows = elements(weight.axes[0])
        rest = rows % (STICK * CORES)
        if rest and rows > rest and elements(dim for one in weight.axes for dim in one) > MOST_OF_A_CORE:
            self.list.stick(weight, weight.axes[0])
            parts = [self.slice(weight, 0, first, last) for first, last in ((0, rows - rest), (rows - rest, rows))]
            y = self.cat([self.linear(x, part) for part in parts], -1)
        else:
            y = self.matmul(x, weight.of([weight.axes[1], weight.axes[0]]))
        return self.elementwise("add", [y, bias]) if bias is not None else y

    def addmm(self, bias: Value, a: Value, b: Value, **_: Any) -> Value:
        return self.elementwise("add", [self.matmul(a, b), bias])

    def scaled_dot_product_attention(self, q: Value, k: Value, v: Value, attn_mask: Optional[Value] = None, dropout_p: float = 0,
                                     is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Value:
        if enable_gqa:  # heads of q in groups, one for each head of k
            heads, groups = elements(k.axes[-3]), elements(q.axes[-3]) // elements(k.axes[-3])
            cut = regroup([q.axes[-3]], [heads, groups])
            if heads > 1:
                unify(cut[0], k.axes[-3])
                unify(k.axes[-3], v.axes[-3])
            batch = self.broadcast([one.of(one.axes[:-3]) for one in (q, k, v)]) + [q.axes[-3]]
        else:
            batch = self.broadcast([one.of(one.axes[:-2]) for one in (q, k, v)])
        unify(q.axes[-1], k.axes[-1])
        unify(k.axes[-2], v.axes[-2])
        beside = [dim for one in q.axes for dim in one]
        keys = k.axes[-2]
        k = self.list.rename(k, keys, beside)
        v = self.list.rename(v, keys, beside)
        unify(k.axes[-2], v.axes[-2])
        inputs: List[Any] = [q, k, v]
        if dropout_p:
            raise Unsupported("dropout")
        if attn_mask is not None:
            for place, one in ((-1, k.axes[-2]), (-2, q.axes[-2])):
                if attn_mask.axes[place]:
                    unify(one, attn_mask.axes[place])
            self.broadcast([attn_mask.of(attn_mask.axes[:-2]), q.of(batch)])
            inputs.append(attn_mask)
        keys_of: Dict[str, Any] = {"scale": scale} if scale is not None else {}
        if is_causal:
            keys_of["is_causal"] = q.axes[-2]
        return self.list.append("attention", inputs, batch + [q.axes[-2], v.axes[-1]], dim=q.axes[-1], **keys_of)

    # The last two axes as windows: [.., rows, in a window, columns, in a window]. Where they overlap, elements are in several.
    def windows(self, x: Value, kernel: Any, stride: Any, padding: Any = 0, dilation: Any = 1, beyond: float = 0) -> Value:
        kernel, stride, padding, dilation = (pair(one) for one in (kernel, stride or kernel, padding, dilation))
        if any(padding):
            x = self.pad(x, [padding[1], padding[1], padding[0], padding[0]], value=beyond)
        first = len(x.axes) - 2
        if self.overlap(kernel, stride, 0, dilation):
            for place in (0, 1):
                x = self.overlapping(x, first + 2 * place, kernel[place], stride[place], dilation[place])
            return x
        for place in (0, 1):
            size = elements(x.axes[first + place])
            if kernel[place] == 1:
                x = self.slice(x, first + place, 0, size, stride[place])
            else:
                x = self.slice(x, first + place, 0, size - size % kernel[place])
        rows, columns = x.shape()[first:]
        return x.of(regroup(x.axes, x.shape()[:first] + [rows // kernel[0], kernel[0], columns // kernel[1], kernel[1]]))

    @staticmethod
    def overlap(kernel: Any, stride: Any, padding: Any, dilation: Any) -> bool:
        stride, padding, dilation = (pair(one) for one in (stride, padding, dilation))
        return any(padding) or any(size > 1 and (step != size or apart != 1) for size, step, apart in zip(kernel, stride, dilation))

    # The sum of a product of matrices for each place in the window, with elements that are as far apart as windows are. Groups of channels are
    # matrices of their own.
    def shifted(self, x: Value, weight: Value, bias: Optional[Value], stride: Any, padding: Any, dilation: Any, groups: int) -> Value:
        stride, padding, dilation = (pair(one) for one in (stride, padding, dilation))
        x = self.pad(x, [padding[1], padding[1], padding[0], padding[0]])
        rows, columns = x.shape()[-2:]
        x = self.view("unflatten", x, -3, (groups, -1))
        weight = self.view("unflatten", weight, 0, (groups, -1))
        total: Optional[Value] = None
        for above in range(weight.shape()[3]):
            for beside in range(weight.shape()[4]):
                part = self.place_in_windows(x, -2, above, weight.shape()[3], stride[0], dilation[0], rows)
                part = self.place_in_windows(part, -1, beside, weight.shape()[4], stride[1], dilation[1], columns)
                part = part.of([*part.axes[:-3], part.axes[-2], part.axes[-1], part.axes[-3]])
                one = self.select(self.select(weight, 4, beside), 3, above)
                product = self.matmul(part, one.of([one.axes[0], [], one.axes[2], one.axes[1]]))
                total = product if total is None else self.elementwise("add", [total, product])
        y = total
        if bias is not None:
            bias = self.view("unflatten", bias, 0, (groups, -1))
            y = self.elementwise("add", [total, bias.of([bias.axes[0], [], [], bias.axes[1]])])
        return y.of(y.axes[:-4] + [y.axes[-4] + y.axes[-1]] + y.axes[-3:-1])

    # Of every window the element at one place of a dimension.
    def place_in_windows(self, x: Value, dim: int, at: int, size: int, step: int, apart: int, length: int) -> Value:
        count = (length - apart * (size - 1) - 1) // step + 1
        return self.slice(x, dim % len(x.axes), apart * at, apart * at + step * (count - 1) + 1, step)

    def overlapping(self, x: Value, dim: int, size: int, step: int, apart: int) -> Value:
        length = elements(x.axes[dim])
        parts = [self.place_in_windows(x, dim, at, size, step, apart, length) for at in range(size)]
        return self.stack(parts, dim + 1)

    def conv2d(self, x: Value, weight: Value, bias: Optional[Value] = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
               groups: int = 1) -> Value:
        filters, _, *kernel = weight.shape()
        if padding == "same":
            ahead = [(size - 1) * apart for size, apart in zip(kernel, pair(dilation))]
            x = self.pad(x, [ahead[1] // 2, ahead[1] - ahead[1] // 2, ahead[0] // 2, ahead[0] - ahead[0] // 2])
        padding = 0 if isinstance(padding, str) else padding
        if groups != 1 or self.overlap(kernel, stride, padding, dilation):
            return self.shifted(x, weight, bias, stride, padding, dilation, groups)
        x = self.windows(x, kernel, stride, padding, dilation)
        batch, channels, rows, above, columns, beside = ([x.axes[:-5]] + x.axes[-5:])
        summed = [part for one in (channels, above, beside) for part in one]
        y = self.matmul(x.of([*batch, rows, columns, summed]), self.view("view", weight, [filters, -1]).of(
            [[part for one in weight.axes[1:] for part in one], weight.axes[0]]))
        y = self.elementwise("add", [y, bias]) if bias is not None else y
        return y.of(y.axes[:-3] + [y.axes[-1]] + y.axes[-3:-1])

    # A mean's divisor is that of PyTorch, which depends on how many elements of a window are beyond the edges.
    def pool(self, op: str, x: Value, kernel: Any, stride: Any = None, padding: Any = 0, *others: Any) -> Value:
        import torch

        size, step, edge = pair(kernel), pair(stride or kernel), pair(padding)
        dilation = pair(others[0] if op == "amax" and others else 1)
        height, width = x.shape()[-2:]
        ones = torch.ones(1, height, width)
        function = torch.nn.functional.max_pool2d if op == "amax" else torch.nn.functional.avg_pool2d
        windows = function(ones, size, step, edge, *others)
        behind = [max(0, (count - 1) * by + apart * (one - 1) + 1 - whole - before)
                  for count, by, apart, one, whole, before in zip(windows.shape[-2:], step, dilation, size, (height, width), edge)]
        x = self.pad(x, [edge[1], behind[1], edge[0], behind[0]], value=-65504 if op == "amax" else 0)
        x = self.reduce(op, self.windows(x, size, step, 0, dilation), [-3, -1], False)
        if op == "amax":
            return x
        inside = function(ones, size, step, edge, bool(others and others[0]), True, 1)
        factors = (windows * size[0] * size[1] / inside)[0].numpy()
        if (factors == factors[0, 0]).all():
            return x if factors[0, 0] == 1 else self.elementwise("mul", [x, float(factors[0, 0])])
        return self.elementwise("mul", [x, self.constant(factors)])

    # Parts of an axis that begin and end where the sizes do not divide by rounding outwards.
    def adaptive_avg_pool2d(self, x: Value, size: Any) -> Value:
        wanted, lengths = pair(size), x.shape()[-2:]
        if wanted == [1, 1]:
            return self.reduce("mean", x, [-2, -1], True)
        if not any(length % (count or length) for length, count in zip(lengths, wanted)):
            return self.pool("mean", x, [length // (count or length) for length, count in zip(lengths, wanted)])
        for dim, count in zip((-2, -1), pair(size)):
            length = x.shape()[dim]
            count = length if count is None else count
            ends = [(at * length // count, -(-(at + 1) * length // count)) for at in range(count)]
            parts = [self.reduce("mean", self.slice(x, dim % len(x.axes), start, end), [dim], True) for start, end in ends]
            x = self.join(parts, dim)
        return x

    # Numbers of float8 are numbers of float16 as well.
    def scaled_mm(self, a: Value, b: Value, scale_a: Value, scale_b: Value, bias: Optional[Value] = None, scale_result: Optional[Value] = None,
                  *_: Any, **__: Any) -> Value:
        if scale_result is not None:
            raise Unsupported("a scale of the result")
        y = self.matmul(a, b)
        for scale in (scale_a, scale_b):
            y = self.elementwise("mul", [y, scale.of([]) if not any(scale.axes) else scale])
        return self.elementwise("add", [y, bias]) if bias is not None else y
