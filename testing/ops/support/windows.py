"""Windows over images, as convolutions and pooling have them."""

from __future__ import annotations

from dataclasses import dataclass

from testing.ops.support import number_types
from testing.ops.support.number_types import Array
from testing.ops.support.reference import refuse_unless
from testing.ops.support.source import Source


@dataclass
class Window:
    """A window along one dimension. `pads` are before and after, for explicit padding."""

    size: int
    stride: int
    dilation: int = 1
    padding: str = "VALID"
    pads: tuple[int, int] = (0, 0)

    def places(self, whole: int, argument: str) -> list[list[tuple[int, int]]]:
        """For each result, the (place in the window, place in the image) pairs inside of it."""
        refuse_unless(self.size > 0, argument)
        length = (self.size - 1) * self.dilation + 1
        before, after = self.pads
        if self.padding == "SAME":
            count = -(-whole // self.stride)
            before = max((count - 1) * self.stride + length - whole, 0) // 2
        else:
            refuse_unless(length - whole - before - after <= self.stride, argument)
            count = (whole + before + after - length + self.stride) // self.stride
        refuse_unless(count < 10**6, argument)
        found = []
        for i in range(count):
            start = i * self.stride - before
            pairs = [(k, start + k * self.dilation) for k in range(self.size)]
            found.append([pair for pair in pairs if 0 <= pair[1] < whole])
        return found


EDGES = (0, -1, 2**31, 2**62, 2**63 - 1)


def are_32_bit(values: list[int]) -> bool:
    """What libraries take as sizes and steps."""
    return all(1 <= value < 2**31 for value in values)


def image_sizes(source: Source, channels: int) -> list[int]:
    """The sizes of a small batch of images, in the order NHWC."""
    return [source.size(3), source.size(7), source.size(7), channels]


def drawn_pair(source: Source, low: int, high: int) -> list[int]:
    """Two numbers from low to high, both included."""
    return [source.integer(low, high), source.integer(low, high)]


def laid_sizes(values: list[int], first: bool) -> list[int]:
    """Sizes of the order NHWC in that of the case, whose channels come first or last."""
    return [values[i] for i in (0, 3, 1, 2)] if first else values


def unlaid(x: Array, first: bool) -> Array:
    """Images of the case in the order NHWC."""
    return x.transpose(0, 2, 3, 1) if first else x


def laid(x: Array, first: bool) -> Array:
    """Images of the order NHWC in that of the case."""
    return x.transpose(0, 3, 1, 2) if first else x


def moderate(source: Source, dtype: str, shape: list[int]) -> Array:
    """Values whose sums of products neither overflow nor are no numbers."""
    style = source.pick(("small", "plain")) if number_types.is_inexact(dtype) else ""
    return source.values(dtype, shape, style)
