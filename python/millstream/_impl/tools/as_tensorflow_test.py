"""Programs that import tensorflow run as they would alone, and missing names are listed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millstream._impl.tools import check_names

_HANG_GUARD_SECONDS = 100


def _run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    code = "import sys; from millstream._impl.tools.as_tensorflow import main; "
    return subprocess.run(
        [sys.executable, "-c", code + "sys.exit(main(sys.argv[1:]))", "program.py", *arguments],
        env={"PYTHONPATH": ":".join(str(Path(entry).absolute()) for entry in sys.path)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "import tensorflow as tf",
        "import tensorflow.compat.v1 as tf",
        "from tensorflow.compat import v1 as tf",
        "import tensorflow as tf; from tensorflow.python.framework import ops; ops.Graph",
        "import tensorflow as tf; from tensorflow.python.platform import gfile; gfile.Exists",
        "import tensorflow as tf; from tensorflow.core.framework.graph_pb2 import GraphDef",
        "import tensorflow as tf; from google.protobuf import text_format as t\n"
        "assert t.Parse('node { name: \"a\" }', tf.GraphDef()).node[0].name == 'a'",
        "import tensorflow as tf; from google.protobuf import json_format as j, text_format as t\n"
        "node = j.Parse(j.MessageToJson(tf.NodeDef(name='a')), tf.NodeDef())\n"
        "assert t.MessageToString(node, as_one_line=True) == 'name: \"a\"'",
        "import tensorflow as tf; from google.protobuf.json_format import MessageToDict\n"
        "assert MessageToDict(tf.GraphDef(node=[tf.NodeDef(name='a')])) == "
        "{'node': [{'name': 'a'}]}",
    ],
)
def test_programs_run_under_the_name_of_tensorflow(tmp_path: Path, line: str) -> None:
    done = _run(tmp_path, f"{line}\nprint(tf.Session().run(tf.constant(1) + 2))")
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "assert tf.contrib.rnn.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell",
        "assert tf.python.framework.ops.Graph is tf.Graph",
        "assert tf.contrib.framework.nest is tf.nest",
        "from tensorflow.contrib import rnn; assert rnn.GRUCell is tf.nn.rnn_cell.GRUCell",
        "assert tf.contrib.layers.flatten is tf.layers.flatten",
        "from tensorflow.python.ops import variable_scope as vs\n"
        "assert vs.get_variable is tf.get_variable",
        "from tensorflow.python.client import device_lib\n"
        "assert device_lib.list_local_devices()[0].name.endswith('CPU:0')",
        "from tensorflow.python.training import moving_averages as m; v = tf.Variable(1.0)\n"
        "move = m.assign_moving_average(v, 3.0, 0.75, zero_debias=False)\n"
        "with tf.Session() as s:\n"
        "    s.run(v.initializer); s.run(move); assert s.run(v) == 1.5",
        "from tensorflow.contrib.layers.python.layers import initializers, layers\n"
        "import tensorflow.contrib.layers as own\n"
        "assert initializers.xavier_initializer is own.xavier_initializer",
        "from tensorflow.python.framework import sparse_tensor, tensor_util, versions\n"
        "from tensorflow.core.framework import types_pb2\n"
        "proto = tf.make_tensor_proto([1, 2]); assert proto.dtype == types_pb2.DT_INT32\n"
        "assert tensor_util.MakeNdarray(proto).tolist() == [1, 2]\n"
        "assert tensor_util.constant_value(tf.constant(3)) == 3\n"
        "assert sparse_tensor.SparseTensor is tf.SparseTensor\n"
        "from tensorflow.python.framework import tensor_shape as ts\n"
        "assert ts.unknown_shape(2).as_list() == [None, None] and ts.scalar() == []\n"
        "assert ts.matrix(2, 3) == [2, 3] and ts.unknown_shape().ndims is None",
        "from tensorflow.python.platform import tf_logging\n"
        "assert tf_logging.log is tf.logging.log and tf_logging.info is tf.logging.info",
        "from tensorflow.python.ops import control_flow_ops as c, resource_variable_ops as r\n"
        "v = tf.get_variable('v', [])\n"
        "assert r.is_resource_variable(v) and not r.is_resource_variable(v + 1)\n"
        "assert c.with_dependencies([v.initializer], v + 1).op.control_inputs",
        "from tensorflow.contrib.layers import xavier_initializer\n"
        "for u in (True, False):\n    assert xavier_initializer(u)([3, 2]).shape == [3, 2]",
        "w = tf.ones([3]); r = tf.contrib.layers\n"
        "losses = [r.l1_regularizer(0.5)(w), r.l2_regularizer(0.5)(w)]\n"
        "assert tf.Session().run(losses) == [1.5, 0.75]\n"
        "assert r.l2_regularizer(0.0)(w) is None",
    ],
)
def test_modules_that_are_not_public_are_looked_through(tmp_path: Path, line: str) -> None:
    done = _run(tmp_path, f"import tensorflow as tf\n{line}\nprint('ok')")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tf.contrib.layers.conv2d", "other arguments and defaults, among them an activation"),
        ("from tensorflow.contrib import slim; slim.dropout", "use tf.layers.dropout"),
        ("tf.contrib.losses.mean_squared_error", "takes predictions before labels"),
        ("tf.contrib.layers.fully_connectd", "tensorflow.contrib.layers.fully_connectd is not"),
        ("tf.contrib.layers.fully_connected", "the nearest name is tf.layers.dense"),
        ("from tensorflow.contrib.layers import conv2d", "use tf.layers.conv2d"),
        ("from tensorflow.contrib.layers import batch_norm", "is tf.layers.batch_normalization"),
        ("from tensorflow.contrib.layers.python.layers import conv2d", "use tf.layers.conv2d"),
        ("from tensorflow.contrib.rnn import LayerNormLSTMCell", "contrib.rnn.LayerNormLSTMCell"),
        ("import tensorflow.contrib.slim.nets", "tensorflow.contrib.slim.nets"),
        ("tf.contrib.summary.scalar('x', 1.0)", "a writer of its own; use tf.summary.scalar"),
        ("from tensorflow.contrib.crf import decode; decode()", "contrib.crf.decode is not there"),
    ],
)
def test_functions_of_other_arguments_are_refused(tmp_path: Path, line: str, words: str) -> None:
    done = _run(tmp_path, f"import tensorflow as tf\n{line}\n")
    assert done.returncode == 1
    assert words in done.stderr


def test_programs_find_a_version_and_a_logger_that_they_know(tmp_path: Path) -> None:
    program = (
        "import logging, tensorflow as tf\n"
        "from tensorflow.python.framework import versions\n"
        "assert tf.__version__ == tf.VERSION == tf.version.VERSION == versions.VERSION\n"
        "assert int(tf.__version__.split('.')[0]) == 1\n"
        "tf.logging.warn('before'); logging.getLogger('tensorflow').setLevel(logging.ERROR)\n"
        "tf.logging.warn('after'); print(tf.logging.get_verbosity() == tf.logging.ERROR)\n"
    )
    done = _run(tmp_path, program)
    assert (done.stdout, done.stderr) == ("True\n", "WARNING:tensorflow:before\n")


def test_programs_configure_the_messages_of_all_loggers(tmp_path: Path) -> None:
    program = (
        "import logging, sys, tensorflow as tf\n"
        "assert tf.logging.get_verbosity() == logging.WARNING\n"
        "tf.logging.info('hidden')\n"
        "form = '%(name)s %(message)s'\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=form)\n"
        "tf.logging.info('shown once')\n"
    )
    done = _run(tmp_path, program)
    assert (done.stdout, done.stderr) == ("tensorflow shown once\n", "")


def test_suites_are_decorated_as_for_two_modes(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.python.framework import test_util\n"
        "@test_util.run_all_in_graph_and_eager_modes\n"
        "class Suite(test_util.TensorFlowTestCase):\n"
        "    def test_all(self): self.assertEqual(tf.constant(2).eval(), 2)\n"
        "class Single(tf.test.TestCase):\n"
        "    @test_util.run_in_graph_and_eager_modes()\n"
        "    def test_called(self): self.assertEqual(tf.constant(2).eval(), 2)\n"
        "    @test_util.run_deprecated_v1\n"
        "    def test_as_it_is(self): self.assertIsNone(tf.get_default_session())\n"
        "    @test_util.run_v1_only('a reason')\n"
        "    def test_wrong(self): self.fail('on purpose')\n"
        "tf.test.main()\n"
    )
    done = _run(tmp_path, program)
    assert done.returncode == 1
    assert "FAILED (failures=1" in done.stderr
    assert "on purpose" in done.stderr


def test_arguments_main_and_exit_code_are_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 5")
    program = (
        "import sys, beside, tensorflow as tf\n"
        "def main(argv):\n    print(argv, __name__, __file__, beside.value)\n    return 3\n"
        "if __name__ == '__main__':\n    tf.app.run()\n"
    )
    done = _run(tmp_path, program, "--x", "y")
    assert done.returncode == 3
    assert done.stdout == "['program.py', '--x', 'y'] __main__ program.py 5\n"


def test_an_exception_is_printed_as_the_program_alone_would(tmp_path: Path) -> None:
    done = _run(tmp_path, "import tensorflow\n\nraise KeyError('lost')\n")
    assert done.returncode == 1
    assert "as_tensorflow" not in done.stderr
    assert 'File "program.py", line 3, in <module>' in done.stderr
    assert done.stderr.endswith("KeyError: 'lost'\n")


@pytest.mark.parametrize(
    "program", ["from tensorflow import matmull", "from tensorflow.python.ops.x import matmull"]
)
def test_a_name_that_is_not_there_says_the_nearest(tmp_path: Path, program: str) -> None:
    done = _run(tmp_path, program)
    assert done.returncode == 1
    assert "the nearest name is tf.matmul" in done.stderr


def test_programs_read_images_by_the_module_of_the_tutorials(tmp_path: Path) -> None:
    program = (
        "from tensorflow.examples.tutorials.mnist import input_data\n"
        "import tensorflow.examples.tutorials.mnist.input_data as again\n"
        "data = input_data.read_data_sets('nowhere', fake_data=True, one_hot=True)\n"
        "print(len(data.train.next_batch(3)[0]), again is input_data)\n"
    )
    done = _run(tmp_path, program)
    assert (done.returncode, done.stdout) == (0, "3 True\n"), done.stderr
    assert check_names.missing_names(program, "p.py") == []
    misspelt = "from tensorflow.examples.tutorials.mnist import input_dat\n"
    (found,) = check_names.missing_names(misspelt, "p.py")
    assert found.name == "tf.examples.tutorials.mnist.input_dat"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = _run(tmp_path, "", "unused")
    assert done.returncode == 0
    (tmp_path / "program.py").unlink()
    code = (
        "import sys; from millstream._impl.tools.as_tensorflow import main; sys.exit(main(['p']))"
    )
    path = ":".join(str(Path(entry).absolute()) for entry in sys.path)
    command = [sys.executable, "-c", code]
    again = subprocess.run(
        command, env={"PYTHONPATH": path}, cwd=tmp_path, capture_output=True, check=False
    )
    assert again.returncode == 2


def test_missing_names_are_listed_with_their_lines() -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow import matmull, reduce_sum\n"
        "n = tf.nn\n"
        "n.reluu(tf.constant(1.0)); tf.train.AdamOptimizer.__name__\n"
        "tf.compat.v1.nope_at_all.inner()\n"
        "other.nope()\n"
    )
    found = check_names.missing_names(program, "p.py")
    assert [(one.line, one.name) for one in found] == [
        (2, "tf.matmull"),
        (4, "tf.nn.reluu"),
        (5, "tf.compat.v1.nope_at_all"),
    ]
    assert str(found[0]) == "p.py:2: tf.matmull is not there (the nearest name is tf.matmul)"
    (absent,) = check_names.missing_names("import tensorflow as tf\ntf.keras.Input(3)\n", "p.py")
    assert str(absent).startswith("p.py:2: tf.keras is not there: use tf.layers")


def test_names_are_followed_through_modules_that_are_not_public() -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.python.ops import array_ops, math_ops as m\n"
        "from tensorflow.python.ops.array_ops import concatt, reshape\n"
        "from tensorflow.python.framework.ops import Grap\n"
        "import tensorflow.contrib.slim as slim\n"
        "import tensorflow.contrib.layers.python.layers.utils\n"
        "from tensorflow.contrib import rnn, seq2seq\n"
        "from tensorflow.contrib.framework import arg_scope, nest\n"
        "with arg_scope([slim.conv2d]):\n"
        "    m.matmull(array_ops.concat([1], 0), reshape(1, 2))\n"
        "rnn.BasicLSTMCel(3); rnn.BasicLSTMCell(3)\n"
        "seq2seq.sequence_loss(1)\n"
        "tensorflow.contrib.layers.python.layers.utils.flatten(1)\n"
        "nest.flattn(nest.flatten([1]))\n"
        "@slim.add_arg_scope\n"
        "def block(): return tf.python.ops.nn_ops.relu\n"
        "slim.fully_connected(1)\n"
    )
    found = check_names.missing_names(program, "p.py")
    assert [(one.line, one.name, one.nearest) for one in found] == [
        (3, "tf.python.ops.array_ops.concatt", "tf.concat"),
        (4, "tf.python.framework.ops.Grap", "tf.Graph"),
        (9, "tf.contrib.framework.arg_scope", "tf.name_scope"),
        (9, "tf.contrib.slim.conv2d", ""),
        (10, "tf.python.ops.math_ops.matmull", "tf.matmul"),
        (11, "tf.contrib.rnn.BasicLSTMCel", "tf.nn.rnn_cell.BasicLSTMCell"),
        (12, "tf.contrib.seq2seq.sequence_loss", "tf.sequence_mask"),
        (14, "tf.contrib.framework.nest.flattn", "tf.nest.flatten"),
        (15, "tf.contrib.slim.add_arg_scope", "tf.name_scope"),
        (17, "tf.contrib.slim.fully_connected", "tf.layers.dense"),
    ]


def test_the_status_says_whether_names_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad, broken = (tmp_path / name for name in ("good.py", "bad.py", "broken.py"))
    good.write_text("import tensorflow as tf\ntf.constant(1)\n")
    bad.write_text("import tensorflow as tf\ntf.constantt(1)\n")
    broken.write_text("def\n")
    assert check_names.run([str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert check_names.run([str(good), str(bad)]) == 1
    assert "bad.py:2: tf.constantt" in capsys.readouterr().out
    assert check_names.run([str(broken)]) == 2


def test_functions_of_contrib_that_are_refused_are_listed_with_the_reason() -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.contrib.layers import fully_connected\n"
        "slim = tf.contrib.slim\n"
        "slim.dropout(1.0)\n"
        "tf.contrib.layers.conv2d(1.0)\n"
        "tf.contrib.layers.xavier_initializer()\n"
        "tf.contrib.layers.flatten(1.0)\n"
        "tf.contrib.losses.mean_squared_error(1.0, 2.0)\n"
        "from tensorflow.contrib.layers.python.layers import utils\n"
    )
    found = check_names.missing_names(program, "p.py")
    assert [(one.line, one.name) for one in found] == [
        (2, "tf.contrib.layers.fully_connected"),
        (4, "tf.contrib.slim.dropout"),
        (5, "tf.contrib.layers.conv2d"),
        (8, "tf.contrib.losses.mean_squared_error"),
    ]
    assert str(found[2]) == (
        "p.py:5: tf.contrib.layers.conv2d is not there: it has other arguments and defaults, among "
        "them an activation; use tf.layers.conv2d"
    )


def test_a_program_may_call_what_it_names_as_a_module() -> None:
    program = "from tensorflow.python.ops import rnn\n{}"
    (found,) = check_names.missing_names(program.format("rnn(1.0)"), "p.py")
    assert (found.line, found.name) == (2, "tf.python.ops.rnn")
    for own in ("def f(rnn): rnn(1.0)", "def rnn(x): pass\nrnn(1.0)", "rnn = min\nrnn(1.0)"):
        assert check_names.missing_names(program.format(own), "p.py") == []


def test_tables_of_contrib_are_there(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("one\ntwo\n")
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.contrib import lookup\n"
        "from tensorflow.python.ops import lookup_ops\n"
        f"path = {str(words)!r}\n"
        "keys = tf.constant(['two', 'three'])\n"
        "ids = lookup.index_table_from_file(path, num_oov_buckets=1).lookup(keys)\n"
        "own = lookup_ops.index_table_from_tensor(vocabulary_list=['two'], default_value=7)\n"
        "texts = lookup.index_to_string_table_from_file(path, default_value='no')\n"
        "back = texts.lookup(tf.constant([0, 9], tf.int64))\n"
        "table = lookup.MutableHashTable(tf.string, tf.int64, -1)\n"
        "fill = table.insert(tf.constant(['two']), tf.constant([5], tf.int64))\n"
        "with tf.Session() as sess:\n"
        "    sess.run([tf.tables_initializer(), fill])\n"
        "    found = sess.run([ids, own.lookup(keys), back, table.lookup(keys)])\n"
        "    print([one.tolist() for one in found], isinstance(lookup.HashTable, type))\n"
    )
    done = _run(tmp_path, program)
    assert done.stdout == "[[1, 2], [0, 7], [b'one', b'no'], [5, -1]] True\n", done.stderr


def test_ops_have_their_functions_in_modules_of_ops(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.python.ops import control_flow_ops\n"
        "from tensorflow.contrib.framework.python.ops import audio_ops\n"
        "def one_of(x, functions, which):\n"
        "    return control_flow_ops.merge([\n"
        "        each(control_flow_ops.switch(x, tf.equal(which, i))[1])\n"
        "        for i, each in enumerate(functions)])[0]\n"
        "which = tf.placeholder(tf.int32, [])\n"
        "chosen = one_of(tf.constant([4.0]), [tf.sqrt, tf.square, tf.negative], which)\n"
        "wave = audio_ops.audio_spectrogram(tf.ones([64, 1]), 32, 16)\n"
        "with tf.Session() as sess:\n"
        "    print([sess.run(chosen, {which: i}).tolist() for i in range(3)], wave.shape)\n"
    )
    done = _run(tmp_path, program)
    assert done.stdout == "[[2.0], [16.0], [-4.0]] (1, 3, 17)\n", done.stderr
