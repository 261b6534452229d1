"""Names that programs use of modules that are not public, and that no public name ends alike."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl import protos
from millstream._impl.graph.tensor_protos import make_ndarray
from millstream._impl.ops.array_ops import get_static_value
from millstream._impl.ops.control_ops import with_dependencies
from millstream._impl.program.testing_case import TestCase
from millstream._impl.tools import freeze_graph
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables.variables import Variable


def _as_it_is(function: Any) -> Any:
    """A decorator for tests of graphs: all tests are that here."""
    return function


def _for_a_reason(_: str) -> Callable[[Any], Any]:
    return _as_it_is


def run_in_graph_and_eager_modes(
    func: Any = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """A decorator: the test runs in a session of the test case. There is no eager mode."""
    if func is None:
        return functools.partial(run_in_graph_and_eager_modes, config=config, use_gpu=use_gpu)

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.test_session(use_gpu=use_gpu, config=config):
            return func(self, *args, **kwargs)

    return run


def run_all_in_graph_and_eager_modes(cls: Any) -> Any:
    """A decorator of classes: `run_in_graph_and_eager_modes` for each of their tests."""
    for name, value in list(vars(cls).items()):
        if callable(value) and name.startswith("test") and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def unknown_shape(rank: int | None = None, ndims: int | None = None) -> TensorShape:
    """A shape of which the rank is known at most."""
    count = ndims if rank is None else rank
    return TensorShape(None if count is None else [None] * count)


def _shape_of(*dims: Any) -> TensorShape:
    return TensorShape(list(dims))


def _is_resource_variable(var: Any) -> bool:
    """Whether something is a variable: all are resources."""
    return isinstance(var, Variable)


NAMES: dict[str, dict[str, Any]] = {
    "core.framework.types_pb2": protos.enum_values("DataType"),
    "python.framework.tensor_shape": {
        "as_shape": as_shape,
        "matrix": _shape_of,
        "scalar": _shape_of,
        "unknown_shape": unknown_shape,
        "vector": _shape_of,
    },
    "python.framework.tensor_util": {
        "MakeNdarray": make_ndarray,
        "constant_value": get_static_value,
    },
    "python.framework.test_util": {
        "TensorFlowTestCase": TestCase,
        "deprecated_graph_mode_only": _as_it_is,
        "run_all_in_graph_and_eager_modes": run_all_in_graph_and_eager_modes,
        "run_deprecated_v1": _as_it_is,
        "run_in_graph_and_eager_modes": run_in_graph_and_eager_modes,
        "run_v1_only": _for_a_reason,
    },
    "python.ops.control_flow_ops": {
        "merge": gen_ops.merge,
        "switch": gen_ops.switch,
        "with_dependencies": with_dependencies,
    },
    "python.ops.resource_variable_ops": {
        "ResourceVariable": Variable,
        "is_resource_variable": _is_resource_variable,
    },
    "python.tools.freeze_graph": {"freeze_graph": freeze_graph.freeze_graph},
    "python.tools.inspect_checkpoint": {
        "print_tensors_in_checkpoint_file": freeze_graph.print_tensors_in_checkpoint_file
    },
}
