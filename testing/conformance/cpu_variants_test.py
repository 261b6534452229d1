"""The CPU plugin gives the same bits in every instruction set.

Each runs the same steps in a process of its own. Products of matrices and convolutions are left
out: those are oneDNN's, which has other code for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BASELINE = "baseline"
# And what the processor's list of features calls them.
WIDER = {"avx2": "avx2", "avx512": "avx512f"}

STEPS = """
import sys
import numpy as np
import millstream as tf
from millstream._impl.ops import gen_ops

random = np.random.RandomState(5)
results = {}


def floats(*shape):
    return tf.constant(random.uniform(-6, 6, shape).astype(dtype))


for dtype in (np.float32, np.float64):
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-310, 89, -104, 1e30], dtype)
    x = tf.concat([special, floats(1003)], 0)
    y = tf.concat([special[::-1], floats(1003)], 0)
    matrix = floats(37, 5003)
    cube = floats(7, 33, 65)
    found = {}
    for name in (
        "abs", "ceil", "cos", "erf", "exp", "floor", "log", "log1p", "neg", "relu", "relu6", "elu",
        "reciprocal", "rint", "round", "rsqrt", "sigmoid", "sign", "sin", "softplus", "softsign",
        "sqrt", "square", "tanh",
    ):
        function = getattr(gen_ops, name, None)
        if function is not None:
            found[name] = function(x)
    for name in ("add_v2", "sub", "mul", "real_div", "maximum", "minimum", "pow",
                 "squared_difference", "floor_div", "floor_mod"):
        function = getattr(gen_ops, name, None)
        if function is not None:
            found[name] = function(x, y)
    if dtype == np.float32:
        found["fused"], found["fused too"] = gen_ops._fused_elementwise(
            [x, y, floats()],
            M=2,
            steps=["Mul", "Tanh", "Maximum", "RealDiv", "SquaredDifference"],
            operands=[0, 2, 3, -1, 4, 1, 5, 0, 6, 3],
            results=[7, 4],
            name="fused",
        )
        found["relu grad"], found["bias grad"] = gen_ops._relu_grad_bias_add_grad(
            floats(5003, 37), floats(5003, 37), name="relu_grad"
        )
    for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min"):
        for axis in (None, 0, 1, 2, (0, 2)):
            found[f"{name} {axis}"] = getattr(tf, name)(cube, axis)
        found[f"{name} rows"] = getattr(tf, name)(matrix, 1)
    found["softmax"] = tf.nn.softmax(matrix)
    found["log_softmax"] = tf.nn.log_softmax(matrix)
    labels = tf.constant(random.randint(0, 5003, 37).astype(np.int32))
    found["cross entropy"] = tf.nn.softmax_cross_entropy_with_logits(
        labels=tf.nn.softmax(floats(37, 5003)), logits=matrix
    )
    found["sparse cross entropy"] = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=matrix
    )
    image = floats(2, 9, 9, 17)
    found["max_pool"] = tf.nn.max_pool(image, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for side in (2, 3):
        pooled = tf.nn.max_pool(image, [1, side, side, 1], [1, 2, 2, 1], "SAME")
        found[f"max_pool_grad {side}"] = tf.gradients(pooled * floats(2, 5, 5, 17), image)[0]
    found["avg_pool"] = tf.nn.avg_pool(image, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    found["cast"] = tf.cast(floats(1003), tf.int32)
    tf.set_random_seed(11)
    found["uniform"] = tf.random_uniform([1003], dtype=dtype, seed=1)
    found["normal"] = tf.random_normal([1003], dtype=dtype, seed=2)
    found["truncated"] = tf.truncated_normal([1003], dtype=dtype, seed=3)
    for name, make in (
        ("adam", lambda: tf.train.AdamOptimizer(0.1)),
        ("momentum", lambda: tf.train.MomentumOptimizer(0.1, 0.9)),
        ("adagrad", lambda: tf.train.AdagradOptimizer(0.1)),
        ("rms_prop", lambda: tf.train.RMSPropOptimizer(0.1)),
        ("adadelta", lambda: tf.train.AdadeltaOptimizer(0.1)),
        ("proximal_descent", lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.3)),
        ("proximal_adagrad", lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.2, 0.3)),
        ("ftrl", lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.2, 0.3)),
        ("ftrl_v2", lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1)),
        ("adagrad_da", lambda: tf.train.AdagradDAOptimizer(0.1, 1, 0.1, 0.2, 0.3)),
        ("descent", lambda: tf.train.GradientDescentOptimizer(0.1)),
    ):
        variable = tf.Variable(random.uniform(-1, 1, [1003]).astype(dtype))
        update = make().apply_gradients([(tf.tanh(floats(1003)), variable)])
        with tf.control_dependencies([update]):
            found[name] = variable.read_value()
    results.update({f"{np.dtype(dtype).name} {name}": value for name, value in found.items()})

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    values = {name: session.run(value) for name, value in results.items()}
np.savez(sys.argv[1], **values)
"""


# With few channels of the result, which the library computes on every processor.
CONVOLUTION = """
import millstream as tf

image = tf.ones([1, 8, 8, 16])
with tf.Session() as session:
    session.run(tf.nn.conv2d(image, tf.ones([3, 3, 16, 4]), [1, 1, 1, 1], "SAME"))
"""


def run(program: str, isa: str, *arguments: str, **variables: str) -> str:
    """Run a program in an instruction set, in a process of its own; return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={
            **os.environ,
            **variables,
            "MILLSTREAM_PLUGIN_OPTIONS": f"millstream_cpu:isa={isa}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def results_in(isa: str, folder: Path) -> dict[str, np.ndarray]:
    """Return what the steps give in an instruction set."""
    path = folder / f"{isa}.npz"
    run(STEPS, isa, str(path))
    with np.load(path) as values:
        return {name: values[name] for name in values.files}


@pytest.mark.parametrize("isa", WIDER)
def test_wider_instruction_sets_give_the_bits_of_the_baseline(isa: str, tmp_path: Path) -> None:
    if WIDER[isa] not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"the processor has no {isa}")
    expected = results_in(BASELINE, tmp_path)
    found = results_in(isa, tmp_path)
    assert len(expected) >= 100
    assert expected.keys() == found.keys()
    different = [
        name for name, value in expected.items() if value.tobytes() != found[name].tobytes()
    ]
    assert different == []


def test_onednn_keeps_to_the_instruction_set_too() -> None:
    if "avx2" not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("the processor has no avx2")
    assert "cpu,isa:Intel SSE4.1\n" in run(CONVOLUTION, "baseline", ONEDNN_VERBOSE="1")
    assert "cpu,isa:Intel AVX2\n" in run(CONVOLUTION, "avx2", ONEDNN_VERBOSE="1")
    # The widest set sets no limit, so oneDNN's own still holds.
    limited = run(CONVOLUTION, "avx512", ONEDNN_VERBOSE="1", ONEDNN_MAX_CPU_ISA="SSE41")
    assert "cpu,isa:Intel SSE4.1\n" in limited
