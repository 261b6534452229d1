"""Imported graphs whose nodes choose among functions of the library, or repeat one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.protos import text_format

_FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def _placeholder(name: str, dtype: str, shape: str = "shape { }") -> str:
    attrs = f'attr {{ key: "dtype" value {{ type: {dtype} }} }}'
    attrs += f' attr {{ key: "shape" value {{ {shape} }} }}'
    return f'node {{ name: "{name}" op: "Placeholder" {attrs} }}'


def _types(name: str, *dtypes: str) -> str:
    listed = " ".join(f"type: {dtype}" for dtype in dtypes)
    return f'attr {{ key: "{name}" value {{ list {{ {listed} }} }} }}'


def _functions(**names: str) -> str:
    return " ".join(
        f'attr {{ key: "{key}" value {{ func {{ name: "{name}" }} }} }}'
        for key, name in names.items()
    )


def _function(name: str, arguments: str, results: str, body: str) -> str:
    """A function; arguments: "x:DT_FLOAT y:DT_INT32"; results: "z:DT_FLOAT=node:y:0"."""
    signature = " ".join(
        f'input_arg {{ name: "{text.split(":")[0]}" type: {text.split(":")[1]} }}'
        for text in arguments.split()
    )
    returned = ""
    for text in results.split():
        declared, _, tensor = text.partition("=")
        result, _, dtype = declared.partition(":")
        signature += f' output_arg {{ name: "{result}" type: {dtype} }}'
        returned += f' ret {{ key: "{result}" value: "{tensor}" }}'
    return f'function {{ signature {{ name: "{name}" {signature} }} {body} {returned} }}'


def _op(name: str, op: str, *inputs: str, attrs: str = _FLOAT) -> str:
    listed = " ".join(f'input: "{text}"' for text in inputs)
    return f'node_def {{ name: "{name}" op: "{op}" {listed} {attrs} }}'


def _constant(name: str, dtype: str, value: str) -> str:
    tensor = f"tensor {{ dtype: {dtype} tensor_shape {{ }} {value} }}"
    attrs = f'attr {{ key: "dtype" value {{ type: {dtype} }} }}'
    return _op(name, "Const", attrs=f'{attrs} attr {{ key: "value" value {{ {tensor} }} }}')


# Functions of x: its square, twice it, and three.
SQUARE = _function("square", "x:DT_FLOAT", "z:DT_FLOAT=y:y:0", _op("y", "Square", "x"))
TWICE = _function("twice", "x:DT_FLOAT", "z:DT_FLOAT=y:z:0", _op("y", "AddV2", "x", "x"))
THREE = _function(
    "three", "x:DT_FLOAT", "z:DT_FLOAT=c:output:0", _constant("c", "DT_FLOAT", "float_val: 3.0")
)
LIBRARY = f"library {{ {SQUARE} {TWICE} {THREE} }}"


def _if(dtype: str = "DT_BOOL", op: str = "If", then: str = "square", more: str = "") -> str:
    attrs = f'attr {{ key: "Tcond" value {{ type: {dtype} }} }}'
    attrs += _types("Tin", "DT_FLOAT") + _types("Tout", "DT_FLOAT")
    attrs += _functions(then_branch=then, else_branch="twice")
    return f'node {{ name: "choice" op: "{op}" input: "c" input: "x" {attrs} {more} }}'


def _case(*branches: str) -> str:
    listed = " ".join(f'func {{ name: "{name}" }}' for name in branches)
    attrs = _types("Tin", "DT_FLOAT") + _types("Tout", "DT_FLOAT")
    attrs += f'attr {{ key: "branches" value {{ list {{ {listed} }} }} }}'
    return f'node {{ name: "choice" op: "Case" input: "c" input: "x" {attrs} }}'


def _imported(text: str, *names: str) -> list[Any]:
    definition = text_format.Parse(text, tf.GraphDef())
    found = tf.import_graph_def(definition, return_elements=list(names), name="in")
    assert found is not None
    return list(found)


def _choice(condition: str, node: str, library: str = LIBRARY) -> list[Any]:
    text = _placeholder("c", condition) + _placeholder("x", "DT_FLOAT", "shape { dim { size: 2 } }")
    return _imported(text + node + library, "c:0", "x:0", "choice:0")


@pytest.fixture(autouse=True)
def graph() -> Any:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("op", ["If", "StatelessIf"])
def test_if_calls_one_of_its_functions(op: str) -> None:
    c, x, y = _choice("DT_BOOL", _if(op=op))
    with tf.Session() as session:
        assert session.run(y, {c: True, x: [3.0, 4.0]}).tolist() == [9.0, 16.0]
        assert session.run(y, {c: False, x: [3.0, 4.0]}).tolist() == [6.0, 8.0]


def test_a_result_may_depend_on_nothing() -> None:
    c, x, y = _choice("DT_BOOL", _if(then="three"))
    with tf.Session() as session:
        assert session.run(y, {c: True, x: [3.0, 4.0]}) == 3.0
        assert session.run(y, {c: False, x: [3.0, 4.0]}).tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    ("dtype", "true", "false"),
    [
        ("DT_INT32", -1, 0),
        ("DT_FLOAT", np.nan, -0.0),
        ("DT_HALF", np.float16(6e-8), np.float16(-0.0)),
        ("DT_COMPLEX64", 1e-30j, 0j),
        ("DT_STRING", b"\0", b""),
        ("DT_UINT8", 128, 0),
    ],
)
def test_numbers_and_texts_may_be_conditions(dtype: str, true: Any, false: Any) -> None:
    c, x, y = _choice(dtype, _if(dtype))
    with tf.Session() as session:
        assert session.run(y, {c: true, x: [3.0, 4.0]}).tolist() == [9.0, 16.0]
        assert session.run(y, {c: false, x: [3.0, 4.0]}).tolist() == [6.0, 8.0]


def test_other_conditions_are_true_if_they_have_elements() -> None:
    text = _placeholder("c", "DT_FLOAT", "shape { dim { size: -1 } }")
    text += _placeholder("x", "DT_FLOAT")
    c, x, y = _imported(text + _if("DT_FLOAT") + LIBRARY, "c:0", "x:0", "choice:0")
    with tf.Session() as session:
        assert session.run(y, {c: [0.0], x: 3.0}) == 9.0
        assert session.run(y, {c: [], x: 3.0}) == 6.0


def test_case_calls_the_last_function_for_indices_that_it_has_not() -> None:
    c, x, y = _choice("DT_INT32", _case("square", "twice", "three"))
    with tf.Session() as session:
        found = [float(session.run(y, {c: k, x: [5.0, 5.0]}).flat[0]) for k in (0, 1, 2, 7, -1)]
    assert found == [25.0, 10.0, 3.0, 3.0, 3.0]


def test_a_case_of_one_branch_is_a_call() -> None:
    c, x, y = _choice("DT_INT32", _case("square"))
    with tf.Session() as session:
        assert session.run(y, {c: 4, x: [5.0, 6.0]}).tolist() == [25.0, 36.0]


def test_shapes_are_unknown_unless_declared() -> None:
    assert _choice("DT_BOOL", _if())[2].shape.ndims is None
    shapes = 'attr { key: "output_shapes" value { list { shape { dim { size: -1 } } } } }'
    assert _choice("DT_BOOL", _if(more=shapes))[2].shape.as_list() == [None]


def test_gradients_come_from_the_branch_that_is_taken() -> None:
    c, x, y = _choice("DT_BOOL", _if())
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        assert session.run(dx, {c: True, x: [3.0, 4.0]}).tolist() == [6.0, 8.0]
        assert session.run(dx, {c: False, x: [3.0, 4.0]}).tolist() == [2.0, 2.0]


def test_effects_of_the_branch_that_is_taken_happen() -> None:
    value = 'attr { key: "dtype" value { type: DT_FLOAT } }'
    add = _constant("one", "DT_FLOAT", "float_val: 1.0") + _op(
        "add", "AssignAddVariableOp", "v", "one:output:0", attrs=value
    )
    library = _function("add", "v:DT_RESOURCE", "", add) + _function(
        "nothing", "v:DT_RESOURCE", "", ""
    )
    attrs = 'attr { key: "Tcond" value { type: DT_BOOL } }'
    attrs += _types("Tin", "DT_RESOURCE") + _types("Tout")
    attrs += _functions(then_branch="add", else_branch="nothing")
    variable = tf.get_variable("v", initializer=5.0)
    text = _placeholder("c", "DT_BOOL") + _placeholder("handle", "DT_RESOURCE")
    text += f'node {{ name: "choice" op: "If" input: "c" input: "handle" {attrs} }}'
    definition = text_format.Parse(text + f"library {{ {library} }}", tf.GraphDef())
    found = tf.import_graph_def(
        definition, {"handle": variable.handle}, return_elements=["c:0", "choice"], name="in"
    )
    assert found is not None
    c, choice = found
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(choice, {c: False})
        assert session.run(variable) == 5.0
        session.run(choice, {c: True})
        assert session.run(variable) == 6.0


# i, x = i + 1, x * x until i is n: the power 2^n of x.
_LESS = _function(
    "less",
    "i:DT_INT32 x:DT_FLOAT n:DT_INT32",
    "more:DT_BOOL=less:z:0",
    _op("less", "Less", "i", "n", attrs='attr { key: "T" value { type: DT_INT32 } }'),
)
_STEP = _function(
    "step",
    "i:DT_INT32 x:DT_FLOAT n:DT_INT32",
    "j:DT_INT32=next:z:0 y:DT_FLOAT=square:y:0 m:DT_INT32=n",
    _constant("one", "DT_INT32", "int_val: 1")
    + _op("next", "AddV2", "i", "one:output:0", attrs='attr { key: "T" value { type: DT_INT32 } }')
    + _op("square", "Square", "x"),
)


def _while(cond: str = "less", op: str = "While", inputs: str = "i x n") -> str:
    listed = " ".join(f'input: "{name}"' for name in inputs.split())
    attrs = _types("T", "DT_INT32", "DT_FLOAT", "DT_INT32") + _functions(cond=cond, body="step")
    return f'node {{ name: "loop" op: "{op}" {listed} {attrs} }}'


def _loop(node: str, library: str = _LESS + _STEP) -> list[Any]:
    text = _placeholder("i", "DT_INT32") + _placeholder("n", "DT_INT32")
    text += _placeholder("x", "DT_FLOAT", "shape { dim { size: 2 } }")
    text += f"{node} library {{ {library} }}"
    return _imported(text, "i:0", "x:0", "n:0", "loop:0", "loop:1")


@pytest.mark.parametrize("op", ["While", "StatelessWhile"])
def test_while_repeats_its_body(op: str) -> None:
    i, x, n, last, power = _loop(_while(op=op))
    assert power.shape.as_list() == [2]
    assert last.shape.as_list() == []
    with tf.Session() as session:
        found = session.run([last, power], {i: 0, n: 3, x: [2.0, 1.0]})
        assert (found[0], found[1].tolist()) == (3, [256.0, 1.0])
        found = session.run([last, power], {i: 5, n: 3, x: [2.0, 1.0]})
        assert (found[0], found[1].tolist()) == (5, [2.0, 1.0]), "it is not entered"


def test_a_loop_may_go_on_while_a_number_is_not_zero() -> None:
    attrs = 'attr { key: "T" value { type: DT_INT32 } }'
    left = _function(
        "left",
        "i:DT_INT32 x:DT_FLOAT n:DT_INT32",
        "d:DT_INT32=d:z:0",
        _op("d", "Sub", "n", "i", attrs=attrs),
    )
    i, x, n, last, _ = _loop(_while("left"), left + _STEP)
    with tf.Session() as session:
        assert session.run(last, {i: -2, n: 4, x: [1.0, 1.0]}) == 4


def test_functions_may_choose_and_repeat_as_well() -> None:
    even = _function("even", "x:DT_FLOAT", "z:DT_FLOAT=y:y:0", _op("y", "Neg", "x"))
    attrs = 'attr { key: "Tcond" value { type: DT_INT32 } }'
    attrs += _types("Tin", "DT_FLOAT") + _types("Tout", "DT_FLOAT")
    attrs += _functions(then_branch="square", else_branch="even")
    step = _STEP.replace(_op("square", "Square", "x"), _op("choice", "If", "i", "x", attrs=attrs))
    step = step.replace("square:y:0", "choice:output:0")
    i, x, n, _, power = _loop(_while(), _LESS + step + SQUARE + even)
    with tf.Session() as session:  # -x in the first iteration, squares in the others
        assert session.run(power, {i: 0, n: 3, x: [2.0, 3.0]}).tolist() == [16.0, 81.0]


def test_a_function_that_chooses_itself_is_refused() -> None:
    attrs = 'attr { key: "Tcond" value { type: DT_FLOAT } }'
    attrs += _types("Tin", "DT_FLOAT") + _types("Tout", "DT_FLOAT")
    attrs += _functions(then_branch="endless", else_branch="twice")
    endless = _function(
        "endless", "x:DT_FLOAT", "z:DT_FLOAT=y:output:0", _op("y", "If", "x", "x", attrs=attrs)
    )
    with pytest.raises(tf.errors.UnimplementedError, match="endless calls endless"):
        _choice("DT_BOOL", _if(then="endless"), f"library {{ {endless} {TWICE} }}")


def test_the_graph_is_written_as_it_came(graph: tf.Graph) -> None:
    _loop(_while())
    definition = graph.as_graph_def()
    nodes = {node.name: node for node in definition.node}
    assert sorted(nodes) == ["in/i", "in/loop", "in/n", "in/x"]
    assert nodes["in/loop"].op == "While"
    assert list(nodes["in/loop"].input) == ["in/i", "in/x", "in/n"]
    assert nodes["in/loop"].attr["body"].func.name == "step"
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.import_graph_def(
            definition, return_elements=["in/i:0", "in/n:0", "in/x:0", "in/loop:1"], name=""
        )
        assert again is not None
        i, n, x, power = again
        assert session.run(power, {i: 0, n: 1, x: [2.0, 3.0]}).tolist() == [4.0, 9.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lambda: _choice("DT_BOOL", _if(then="none")), "no function 'none'"),
        (
            lambda: _choice("DT_BOOL", _if(then="less"), f"library {{ {_LESS} {TWICE} }}"),
            "arguments",
        ),
        (lambda: _loop(_while("step")), "'step' expected one result, got 3"),
        (lambda: _loop(_while(inputs="i x")), "the op has 3 inputs, the node gives 2"),
    ],
)
def test_what_does_not_fit_is_refused(text: Any, message: str) -> None:
    with pytest.raises((ValueError, tf.errors.OpError), match=message):
        text()


# ---- For, MapDefun and RemoteCall ----

_INT_CAST = "".join(
    f'attr {{ key: "{key}" value {{ type: {dtype} }} }}'
    for key, dtype in (("SrcT", "DT_INT32"), ("DstT", "DT_FLOAT"))
)
# The product of x and the number of the iteration.
TIMES = _function(
    "times",
    "i:DT_INT32 x:DT_FLOAT",
    "z:DT_FLOAT=y:z:0",
    _op("f", "Cast", "i", attrs=_INT_CAST) + _op("y", "Mul", "x", "f:y:0"),
)
# A row and the sum of it and what was captured.
ROWS = _function(
    "rows",
    "v:DT_FLOAT c:DT_FLOAT",
    "same:DT_FLOAT=s:output:0 sum:DT_FLOAT=y:z:0",
    _op("s", "Identity", "v") + _op("y", "AddV2", "v", "c"),
)


def _for() -> list[Any]:
    text = "".join(_placeholder(name, "DT_INT32") for name in ("start", "limit", "delta"))
    text += _placeholder("x", "DT_FLOAT")
    inputs = " ".join(f'input: "{name}"' for name in ("start", "limit", "delta", "x"))
    attrs = _types("T", "DT_FLOAT") + _functions(body="times")
    text += f'node {{ name: "y" op: "For" {inputs} {attrs} }} library {{ {TIMES} }}'
    return _imported(text, "start:0", "limit:0", "delta:0", "x:0", "y:0")


@pytest.mark.parametrize(
    ("numbers", "expected"), [((2, 7, 2), 48.0), ((3, 0, -1), 6.0), ((5, 5, 1), 1.0)]
)
def test_for_calls_its_body_for_each_number(numbers: tuple[int, int, int], expected: float) -> None:
    start, limit, delta, x, y = _for()
    with tf.Session() as session:
        feeds = dict(zip((start, limit, delta), numbers, strict=True))
        assert session.run(y, {**feeds, x: 1.0}) == expected


def _exported_ops() -> dict[str, str]:
    return {node.name: node.op for node in tf.get_default_graph().as_graph_def().node}


def _run_exported(fetch: tf.Tensor, feeds: dict[tf.Tensor, Any]) -> Any:
    """What the fetch is in a graph that is made from the export of this one."""
    exported = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(exported, name="")
        return session.run(fetch.name, {tensor.name: value for tensor, value in feeds.items()})


def test_for_is_exported_as_it_came_and_with_what_its_gradient_reads() -> None:
    start, limit, delta, x, y = _for()
    assert _exported_ops()["in/y"] == "For"
    assert not any(name.startswith("in/y/") for name in _exported_ops())
    gradient = tf.gradients(y, x)[0]
    feeds = {start: 2, limit: 5, delta: 1, x: 7.0}
    with tf.Session() as session:
        assert session.run(gradient, feeds) == 24.0
    assert _run_exported(gradient, feeds) == 24.0


def _map() -> list[Any]:
    text = _placeholder("x", "DT_FLOAT", "shape { dim { size: -1 } dim { size: 2 } }")
    text += _placeholder("c", "DT_FLOAT", "shape { dim { size: 2 } }")
    attrs = _types("Targuments", "DT_FLOAT") + _types("Tcaptured", "DT_FLOAT")
    attrs += _types("output_types", "DT_FLOAT", "DT_FLOAT") + _functions(f="rows")
    shapes = " ".join("shape { dim { size: 2 } }" for _ in range(2))
    attrs += f'attr {{ key: "output_shapes" value {{ list {{ {shapes} }} }} }}'
    text += f'node {{ name: "y" op: "MapDefun" input: "x" input: "c" {attrs} }}'
    return _imported(text + f"library {{ {ROWS} }}", "x:0", "c:0", "y:0", "y:1")


def test_map_calls_its_function_for_each_row() -> None:
    x, c, same, total = _map()
    assert total.shape.as_list() == [None, 2]
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.Session() as session:
        found = session.run([same, total], {x: rows, c: [10.0, 20.0]})
        assert found[0].tolist() == rows.tolist()
        assert found[1].tolist() == np.add(rows, [10.0, 20.0]).tolist()
        none = session.run(total, {x: np.zeros([0, 2], np.float32), c: [10.0, 20.0]})
        assert none.shape == (0, 2)


def test_map_has_a_gradient() -> None:
    x, c, _, total = _map()
    gradients = tf.gradients(total * total, [x, c])
    with tf.Session() as session:
        of_rows, of_captured = session.run(gradients, {x: [[1.0, 2.0], [3.0, 4.0]], c: [0.0, 1.0]})
    assert of_rows.tolist() == [[2.0, 6.0], [6.0, 10.0]]
    assert of_captured.tolist() == [8.0, 16.0]


def _remote(target: str) -> list[Any]:
    tensor = f'tensor {{ dtype: DT_STRING tensor_shape {{ }} string_val: "{target}" }}'
    attrs = 'attr { key: "dtype" value { type: DT_STRING } }'
    text = f'node {{ name: "t" op: "Const" {attrs} attr {{ key: "value" value {{ {tensor} }} }} }}'
    attrs = _types("Tin", "DT_FLOAT") + _types("Tout", "DT_FLOAT") + _functions(f="twice")
    text += _placeholder("x", "DT_FLOAT")
    text += f'node {{ name: "y" op: "RemoteCall" input: "t" input: "x" {attrs} }}'
    return _imported(text + LIBRARY, "x:0", "y:0")


def test_a_remote_call_runs_on_the_device_that_it_names() -> None:
    x, y = _remote("/job:localhost/replica:0/task:0/device:CPU:0")
    with tf.Session() as session:
        assert session.run(y, {x: 4.0}) == 8.0
    with tf.Graph().as_default():
        x, y = _remote("/device:TPU:7")
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="TPU:7"):
            session.run(y, {x: 4.0})


# ---- SymbolicGradient ----


def _gradient(function: str, library: str, arguments: int = 1) -> list[Any]:
    names = [*(f"x{i}" for i in range(arguments)), "dy"]
    text = "".join(_placeholder(name, "DT_FLOAT", "shape { dim { size: 2 } }") for name in names)
    attrs = _types("Tin", *["DT_FLOAT"] * len(names)) + _types("Tout", *["DT_FLOAT"] * arguments)
    attrs += _functions(f=function)
    inputs = " ".join(f'input: "{name}"' for name in names)
    text += f'node {{ name: "dx" op: "SymbolicGradient" {inputs} {attrs} }} library {{ {library} }}'
    outputs = [f"dx:{i}" for i in range(arguments)]
    return _imported(text, *(f"{name}:0" for name in names), *outputs)


def test_the_gradient_of_a_function_is_expanded() -> None:
    x, dy, dx = _gradient("square", SQUARE)
    assert dx.shape.as_list() == [2]
    assert _exported_ops()["in/dx"] == "SymbolicGradient"
    assert not any(name.startswith("in/dx/") for name in _exported_ops())
    feeds = {x: [3.0, 4.0], dy: [1.0, 10.0]}
    with tf.Session() as session:
        assert session.run(dx, feeds).tolist() == [6.0, 80.0]
        second = tf.gradients(dx, x)[0]
        assert session.run(second, feeds).tolist() == [2.0, 20.0]
    assert _run_exported(second, feeds).tolist() == [2.0, 20.0]


def test_an_argument_that_does_not_matter_has_the_gradient_zero() -> None:
    first = _function("first", "x:DT_FLOAT y:DT_FLOAT", "z:DT_FLOAT=s:y:0", _op("s", "Square", "x"))
    x, y, dy, of_x, of_y = _gradient("first", first, 2)
    feeds = {x: [1.0, 2.0], y: [5.0, 6.0], dy: [1.0, 1.0]}
    with tf.Session() as session:
        found = session.run([of_x, of_y], feeds)
    assert [each.tolist() for each in found] == [[2.0, 4.0], [0.0, 0.0]]


def test_the_gradient_of_a_loop_in_a_function_is_expanded() -> None:
    less = _function(
        "less",
        "x:DT_FLOAT",
        "z:DT_BOOL=l:z:0",
        _constant("zero", "DT_INT32", "int_val: 0")
        + _op("s", "Sum", "x", "zero:output:0")
        + _constant("limit", "DT_FLOAT", "float_val: 20.0")
        + _op("l", "Less", "s:output:0", "limit:output:0"),
    )
    attrs = _types("T", "DT_FLOAT") + _functions(cond="less", body="twice")
    grow = _function(
        "grow", "x:DT_FLOAT", "z:DT_FLOAT=w:output:0", _op("w", "While", "x", attrs=attrs)
    )
    x, dy, dx = _gradient("grow", grow + less + TWICE)
    with tf.Session() as session:
        assert session.run(dx, {x: [1.0, 2.0], dy: [1.0, 10.0]}).tolist() == [8.0, 80.0]


def test_a_gradient_that_does_not_end_is_refused() -> None:
    attrs = _types("Tin", "DT_FLOAT", "DT_FLOAT") + _types("Tout", "DT_FLOAT")
    attrs += _functions(f="endless")
    endless = _function(
        "endless",
        "x:DT_FLOAT",
        "z:DT_FLOAT=g:output:0",
        _op("g", "SymbolicGradient", "x", "x", attrs=attrs),
    )
    with pytest.raises(tf.errors.UnimplementedError, match="own gradient"):
        _gradient("endless", endless)
