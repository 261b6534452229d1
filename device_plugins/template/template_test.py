"""The template is built by CMake outside of the repository, and works as any plugin does."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable

import pytest

import millstream as tf

ROOT = pathlib.Path.cwd()
CHECK = ROOT / "framework/plugin/check/millstream_plugin_check"
REFERENCE = ROOT / "device_plugins/cpu/libmillstream_cpu.so"
LLVM = pathlib.Path("/usr/lib/llvm-14/lib")
GUIDE = ROOT / "docs/plugins.md"

# By name: what CMake is told, and what the result needs of the C++ libraries. The first is for what
# does not depend on the compiler, too.
CPP_BUILDS: dict[str, tuple[list[str], set[str]]] = {
    # The compiler is CMake's choice, as in the guide; on Debian that is GCC.
    "gcc": (["-DCMAKE_CXX_FLAGS=-Werror"], set()),
    "clang with libc++": (
        ["-DCMAKE_CXX_COMPILER=clang++-14", "-DCMAKE_CXX_FLAGS=-stdlib=libc++ -Werror"],
        {"libc++.so.1", "libc++abi.so.1"},
    ),
    "clang with libc++ inside": (
        [
            "-DCMAKE_CXX_COMPILER=clang++-14",
            "-DCMAKE_CXX_FLAGS=-stdlib=libc++ -Werror",
            "-DCMAKE_MODULE_LINKER_FLAGS=-nostdlib++",
            f"-DCMAKE_CXX_STANDARD_LIBRARIES={LLVM}/libc++.a {LLVM}/libc++abi.a -lpthread",
        ],
        set(),
    ),
}


def run(*command: str | pathlib.Path, **variables: str) -> str:
    """Standard output of a command that succeeds, in a process with more variables."""
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder: pathlib.Path, part: str, *options: str) -> pathlib.Path:
    """Build a part of the template in an empty folder, where there is nothing else but headers."""
    shutil.copytree(tf.plugins.get_include(), folder / "headers")
    run(sys.executable, "-m", "millstream", "plugin-template", folder / "template")
    source = folder / "template" / part
    headers = f"-DMILLSTREAM_INCLUDE_DIR={folder / 'headers'}"
    run("cmake", "-S", source, "-B", folder / "build", headers, *options)
    run("cmake", "--build", folder / "build")
    (plugin,) = (folder / "build").glob("*.so")
    return plugin


@pytest.fixture(scope="module")
def build_cpp(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pathlib.Path]:
    """Builds the plugin in C++ in the way of that name, once."""

    @functools.cache
    def once(name: str) -> pathlib.Path:
        options, libraries = CPP_BUILDS[name]
        plugin = build(tmp_path_factory.mktemp("cpp"), ".", *options)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "--dynamic", plugin)))
        assert {name for name in needed if "++" in name} == libraries
        return plugin

    return once


@pytest.fixture(scope="module", params=CPP_BUILDS)
def built(request: pytest.FixtureRequest, build_cpp: Callable[[str], pathlib.Path]) -> pathlib.Path:
    """The plugin in C++, by each compiler in turn."""
    return build_cpp(request.param)


@pytest.fixture(scope="module")
def acme(build_cpp: Callable[[str], pathlib.Path]) -> pathlib.Path:
    """The plugin in C++ by one compiler, for what does not depend on it."""
    return build_cpp(next(iter(CPP_BUILDS)))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The plugin in plain C."""
    return build(
        tmp_path_factory.mktemp("tiny"), "c", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_C_FLAGS=-Werror"
    )


def expect_one_export(plugin: pathlib.Path) -> None:
    defined = run("nm", "--dynamic", "--defined-only", "--format=posix", plugin)
    assert [line.split()[0] for line in defined.splitlines()] == ["ms_plugin_entry"]


def expect_conformance(plugin: pathlib.Path, *arguments: str) -> None:
    done = subprocess.run(
        [CHECK, "--json", "--rounds", "100", "--reference", REFERENCE, *arguments, plugin],
        stdout=subprocess.PIPE,
        check=False,
    )
    rules = {rule["id"]: rule for rule in json.loads(done.stdout)["rules"]}
    failures = {name: rule["detail"] for name, rule in rules.items() if rule["result"] == "FAIL"}
    assert (done.returncode, failures) == (0, {})
    for rule in ("EVENT-WAIT", "COPY-OFFSETS", "KERNEL-REFERENCE", "MEM-HUGE", "SOAK-STREAMS"):
        assert rules[rule]["result"] == "PASS", rules[rule]


def test_it_exports_its_entry_point_alone(built: pathlib.Path) -> None:
    expect_one_export(built)


def test_it_passes_the_kit(built: pathlib.Path) -> None:
    expect_conformance(built)


def test_a_net_learns_on_it_what_it_learns_on_the_cpu(built: pathlib.Path) -> None:
    printed = run(sys.executable, built.parent.parent / "template/train.py", built)
    on_acme = re.match(r"(\d+) nodes ran on ACME\n", printed)
    # Two products, two sums with biases, one swish; their gradients; four variables and updates.
    assert on_acme is not None
    assert int(on_acme[1]) >= 15, printed
    losses = [float(loss) for loss in re.findall(r"\b0\.\d{4}", printed)]
    assert len(losses) == 4, printed
    assert losses[1] < 0.05 * losses[0], printed


def test_the_two_devices_and_options_of_the_kit(acme: pathlib.Path) -> None:
    expect_conformance(acme, "--option", "devices=2", "--option", "memory_mb=8")


OP = """
import sys
import numpy as np
import millstream as tf
acme = tf.plugins.load_plugin(sys.argv[1])
x = tf.placeholder(tf.float32, [None, 3])
y = acme.acme_swish(x)
assert y.shape.as_list() == [None, 3], y.shape
(dx,) = tf.gradients(y, [x])
reference = x * tf.sigmoid(x)
(reference_dx,) = tf.gradients(reference, [x])
assert "x * sigmoid(x), element by element." in acme.acme_swish.__doc__
values = np.linspace(-4, 4, 12, dtype=np.float32).reshape(4, 3)
with tf.Session() as session:
    got = session.run([y, dx, reference, reference_dx], {x: values})
    placement = session.explain_placement([y, dx], [x])
np.testing.assert_allclose(got[0], got[2], rtol=1e-6, atol=1e-7)
np.testing.assert_allclose(got[1], got[3], rtol=1e-5, atol=1e-6)
for op in ("AcmeSwish", "AcmeSwishGrad"):
    (line,) = [line for line in placement.splitlines() if f"({op})" in line]
    assert "/device:ACME:0" in line, line
"""


def test_its_op_has_a_shape_and_a_gradient(acme: pathlib.Path) -> None:
    run(sys.executable, "-c", OP, acme)


STATISTICS = """
import sys
import numpy as np
import millstream as tf
acme = tf.plugins.load_plugin(sys.argv[1])
x = tf.placeholder(tf.float32, [None])
normal = acme.acme_normalize(x)
count = acme.acme_count_positive(x)
more = count + 1
with tf.Session() as session:
    for size in (1, 5, 1000):
        values = np.linspace(-1, 2, size, dtype=np.float32)
        got = session.run([normal, count, more], {x: values})
        root = np.sqrt(np.mean(np.square(values, dtype=np.float64)))
        np.testing.assert_allclose(got[0], values / root, rtol=1e-6)
        assert got[1:] == [(values > 0).sum(), (values > 0).sum() + 1], got
    placement = session.explain_placement([normal, count], [x])
for op in ("AcmeNormalize", "AcmeCountPositive"):
    (line,) = [line for line in placement.splitlines() if f"({op})" in line]
    assert "/device:ACME:0" in line, line
"""


def test_scratch_memory_and_a_kernel_that_ends_later(acme: pathlib.Path) -> None:
    run(sys.executable, "-c", STATISTICS, acme)


SPLIT = """
import sys
import numpy as np
import millstream as tf
tf.plugins.load_plugin(sys.argv[1], {"devices": "2"})
values = np.arange(12, dtype=np.float32).reshape(3, 4)
with tf.device("/device:ACME:0"):
    first = tf.matmul(values, values, transpose_b=True)
with tf.device("/device:ACME:1"):
    second = tf.matmul(first, first)
with tf.Session() as session:
    for _ in range(50):
        got = session.run(second)
product = values @ values.T
np.testing.assert_array_equal(got, product @ product)
"""


def test_two_devices_work_in_one_step(acme: pathlib.Path) -> None:
    run(sys.executable, "-c", SPLIT, acme)


FULL = """
import sys
import numpy as np
import millstream as tf
tf.plugins.load_plugin(sys.argv[1], {"memory_mb": "1"})
large = tf.placeholder(tf.float32, [1024, 1024])
with tf.Session() as session:
    try:
        session.run(tf.matmul(large, large), {large: np.zeros([1024, 1024], np.float32)})
    except tf.errors.ResourceExhaustedError as error:
        print(error.message)
    small = tf.placeholder(tf.float32, [2, 2])
    print(session.run(tf.matmul(small, small), {small: np.eye(2)}).tolist())
"""


def test_its_memory_ends_and_the_session_goes_on(acme: pathlib.Path) -> None:
    printed = run(sys.executable, "-c", FULL, acme)
    assert "out of memory: no 4194304 bytes for MatMul:0" in printed
    assert "of 1048576 bytes" in printed
    assert printed.splitlines()[-1] == "[[1.0, 0.0], [0.0, 1.0]]"


WRONG_OPTION = """
import sys
import millstream as tf
path, name, value = sys.argv[1:]
try:
    tf.plugins.load_plugin(path, {name: value})
except tf.errors.InvalidArgumentError as error:
    print(error.message)
"""


@pytest.mark.parametrize(
    ("name", "value"), [("devices", "5"), ("memory_mb", "none"), ("speed", "1")]
)
def test_its_options_are_checked_against_its_schema(
    name: str, value: str, acme: pathlib.Path
) -> None:
    assert name in run(sys.executable, "-c", WRONG_OPTION, acme, name, value)


RENAMED = """
import sys
import millstream as tf
mine = tf.plugins.load_plugin(sys.argv[1], {"devices": "2"})
print([device.device_type for device in tf.Session().list_devices()])
print(mine.mine_swish.__name__)
"""


def test_the_guide_says_how_to_rename_it(tmp_path: pathlib.Path) -> None:
    if shutil.which("clang++") is None:
        pytest.skip("there is no clang++ on this machine")
    run(sys.executable, "-m", "millstream", "plugin-template", tmp_path / "my_device")
    blocks = re.findall(r"^```\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    (rename,) = [block for block in blocks if "xargs" in block]
    source = tmp_path / "my_device"
    run("bash", "-e", "-c", f"cd '{source}'\n{rename}")
    left = run("bash", "-c", f"cd '{source}' && grep -ril acme . ; find . -iname '*acme*'")
    assert left == ""
    headers = f"-DMILLSTREAM_INCLUDE_DIR={tf.plugins.get_include()}"
    compiler = "-DCMAKE_CXX_COMPILER=clang++"
    run("cmake", "-S", source, "-B", source / "build", headers, compiler)
    run("cmake", "--build", source / "build")
    plugin = source / "build/libmine.so"
    printed = run(sys.executable, "-c", RENAMED, plugin).splitlines()
    assert printed == ["['MINE', 'MINE', 'CPU']", "mine_swish"]
    assert "nodes ran on MINE" in run(sys.executable, source / "train.py", plugin)


def install(package: pathlib.Path, site: pathlib.Path) -> None:
    """Lay a package into a folder as pip does, with the metadata of its pyproject.toml."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    shutil.copytree(package / "acme_plugin", site / "acme_plugin")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_its_package_is_found_without_a_path(acme: pathlib.Path, tmp_path: pathlib.Path) -> None:
    template = acme.parent.parent / "template"
    site = tmp_path / "site"
    shutil.copytree(template / "package", tmp_path / "package")
    shutil.copy(acme, tmp_path / "package/acme_plugin")
    install(tmp_path / "package", site)
    path = os.pathsep.join([str(site), *sys.path])
    program = "import millstream as tf; print([d.name for d in tf.Session().list_devices()])"
    assert "/device:ACME:0" in run(sys.executable, "-c", program, PYTHONPATH=path)
    listed = run(sys.executable, "-m", "millstream", "plugins", "--json", PYTHONPATH=path)
    (record,) = [record for record in json.loads(listed) if record["name"] == "acme"]
    assert (record["state"], record["origin"]) == ("READY", "package")
    assert sorted(record["ops"]) == [
        "AcmeCountPositive",
        "AcmeNormalize",
        "AcmeSwish",
        "AcmeSwishGrad",
    ]
    assert "nodes ran on ACME" in run(sys.executable, template / "train.py", PYTHONPATH=path)


def test_the_one_in_c_exports_its_entry_point_alone(tiny: pathlib.Path) -> None:
    expect_one_export(tiny)


def test_the_one_in_c_passes_the_kit(tiny: pathlib.Path) -> None:
    expect_conformance(tiny)


TINY = """
import sys
import numpy as np
import millstream as tf
tiny = tf.plugins.load_plugin(sys.argv[1])
values = np.linspace(-3, 3, 7, dtype=np.float32)
x = tf.placeholder(tf.float32, [7])
softsign = tiny.tiny_softsign(x)
assert softsign.shape.as_list() == [7]
y = tf.square(-softsign)
with tf.Session() as session:
    np.testing.assert_array_equal(session.run(y, {x: values}), (values / (1 + abs(values))) ** 2)
    placement = session.explain_placement([y], [x])
for op in ("TinySoftsign", "Neg", "Square"):
    (line,) = [line for line in placement.splitlines() if f"({op})" in line]
    assert "/device:TINY:0" in line, line
"""


def test_the_one_in_c_runs_kernels_and_an_op_of_its_own(tiny: pathlib.Path) -> None:
    run(sys.executable, "-c", TINY, tiny)
