"""What asking for a name that is not there says."""

import os
import subprocess
import sys

import pytest

import millstream as tf
from millstream._impl.base import absent_names
from millstream._impl.names import api_names


def message_of(module: object, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    return str(caught.value)


def test_a_misspelt_name_is_told_the_nearest() -> None:
    assert message_of(tf, "reduce_summ").endswith("the nearest name is 'reduce_sum'")
    assert message_of(tf, "GraphDeff").endswith("the nearest name is 'GraphDef'")
    assert message_of(tf.nn, "softmaxx").endswith("the nearest name is 'softmax'")
    assert message_of(tf.train, "AdamOptimiser").endswith("the nearest name is 'AdamOptimizer'")
    assert message_of(tf.errors, "NotFoundErr").endswith("the nearest name is 'NotFoundError'")


def test_a_name_of_the_old_api_is_not_there_yet() -> None:
    for module, name in ((tf, "keras"), (tf.train, "sdca_fprint"), (tf.io, "decode_proto")):
        said = message_of(module, name)
        assert said.startswith(f"{module.__name__}.{name} is a name of the 1.15 API")
        assert tf.__version__ in said


def test_an_absent_name_says_what_to_use() -> None:
    said = message_of(tf, "keras")
    assert said.endswith("does not have: " + absent_names.reason_of("keras"))
    assert "tf.layers" in said
    assert absent_names.reason_of("distributions.Normal") == absent_names.reason_of("distributions")
    assert absent_names.reason_of("reduce_sum") == ""


def test_an_absent_operation_says_what_to_use() -> None:
    said = message_of(tf.raw_ops, "Assign")
    assert said.startswith("millstream.raw_ops.Assign is a name of the 1.15 API")
    assert said.endswith("does not have: " + absent_names.reason_of("raw_ops.Assign"))
    assert "AssignVariableOp" in said
    assert absent_names.reason_of("raw_ops.MatMul") == ""
    assert message_of(tf.raw_ops, "MatMulx").endswith("the nearest name is 'MatMul'")


def test_absent_names_are_names_of_the_old_api() -> None:
    api = api_names.all_names()
    for name in absent_names.reasons():
        module, _, last = name.rpartition(".")
        # contrib and compat.v2 are modules that the list of names leaves out.
        assert last in api.get(module, ()) or name in {"compat.v2", "contrib"}
        assert name in {"compat.v2", "contrib"} or not hasattr(tf, name)


def test_a_name_like_no_other_gets_no_hint() -> None:
    assert message_of(tf, "qqqqqq") == "module 'millstream' has no attribute 'qqqqqq'"
    assert not hasattr(tf, "__no_such_thing__")


def test_the_list_holds_whole_modules() -> None:
    assert {"constant", "Session", "zeros_like"} <= api_names.names_of("")
    assert {"run", "flags"} == api_names.names_of("app")
    assert "relu" in api_names.names_of("nn")
    assert api_names.names_of("no.such.module") == frozenset()


def test_names_of_rooms_that_the_package_does_not_need_come_when_they_are_used() -> None:
    program = (
        "import sys, millstream as tf\n"
        "from millstream import confusion_matrix\n"
        "before = 'millstream._impl.nn.activations' in sys.modules\n"
        "assert 'log_sigmoid' in dir(tf) and tf.log_sigmoid is tf.math.log_sigmoid\n"
        "print(before, 'log_sigmoid' in vars(tf), confusion_matrix.__name__)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["False", "True", "confusion_matrix"]


def test_messages_are_among_the_names() -> None:
    assert "ConfigProto" in dir(tf)
    assert "Example" in dir(tf.train)
