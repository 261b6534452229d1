"""The wheel: contents, libraries, metadata, and that it runs where it is unpacked."""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import os
import pathlib
import re
import subprocess
import zipfile

import pytest

from wheel_contents import (
    cluster_wheel_path,
    elf_files,
    plugin_check_wheel_path,
    unpack,
    wheel_path,
)
from wheels import elf, vendor

# What is installed besides oneDNN, which is Debian's and has 39.7 MB: 16 MB up to 422 ops, and for
# each further op its definition, kernels and Python. With 880 ops this is 25 MB; 40 MB is the goal.
MAX_BYTES_BESIDES_ONEDNN = 16_000_000
OPS_IN_THEM = 422
MAX_BYTES_AN_OP = 20_000
# The file, and all that it installs.
MAX_BYTES_OF_WHEEL = 28_000_000
MAX_BYTES_INSTALLED = 80_000_000
# gRPC, OpenSSL and what they need, all Debian's: 17.3 MB.
MAX_BYTES_OF_CLUSTER_WHEEL = 20_000_000


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return unpack(tmp_path_factory.mktemp("site"))


def run(installed: pathlib.Path, program: str) -> str:
    """What a program prints that runs with nothing but the unpacked wheel, Python and NumPy."""
    done = subprocess.run(
        [
            "/usr/bin/python3",
            "-I",
            "-B",
            "-c",
            f"import sys; sys.path.insert(0, {str(installed)!r})\n{program}",
        ],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def read_distribution(installed: pathlib.Path, name: str) -> str:
    (folder,) = installed.glob("*.dist-info")
    return (folder / name).read_text()


def test_wheel_is_small(installed: pathlib.Path) -> None:
    unpacked = sum(path.stat().st_size for path in installed.rglob("*") if path.is_file())
    (library,) = (path.stat().st_size for path in installed.rglob("libdnnl-*"))
    packed = wheel_path().stat().st_size
    print(f"wheel: {packed / 1e6:.1f} MB, installed: {unpacked:,} B, oneDNN: {library:,} B")
    assert packed <= MAX_BYTES_OF_WHEEL
    assert unpacked <= MAX_BYTES_INSTALLED
    program = "from millstream._impl.graph import op_defs; print(len(op_defs.all_ops()))"
    more = max(int(run(installed, program)) - OPS_IN_THEM, 0)
    assert unpacked - library <= MAX_BYTES_BESIDES_ONEDNN + MAX_BYTES_AN_OP * more


def test_wheel_holds_the_package_and_nothing_else(installed: pathlib.Path) -> None:
    names = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert {
        "millstream/__init__.py",
        "millstream/_runtime.abi3.so",
        "millstream/_impl/ops/gen_ops.py",
        "millstream/_impl/ops/gen_ops.pyi",
        "millstream/include/millstream/plugin.h",
        "millstream/include/millstream/plugin_entry.hpp",
        "millstream/codecs/libmillstream_codecs.so",
        "millstream/nn/__init__.py",
        "millstream/nn/__init__.pyi",
        "millstream/millstream_plugin_probe",
        "millstream/plugins/libmillstream_cpu.so",
        "millstream/py.typed",
        "millstream/regex/libmillstream_regex.so",
        "millstream/templates/plugin/CMakeLists.txt",
        "millstream/templates/plugin/package/acme_plugin/__init__.py",
    } <= names
    assert {name.split("/")[0] for name in names} == {"millstream", "millstream-0.1.0.dist-info"}
    kinds = re.compile(
        r"millstream/(?:.*\.pyi?|py\.typed|plugins/.*\.so|_runtime\.abi3\.so|libs/.*\.so(?:\.\d+)*)"
        r"|millstream/millstream_plugin_probe|millstream/(codecs|regex)/libmillstream_\1\.so"
        r"|millstream/include/millstream/\w+\.h(?:pp)?"
        r"|millstream/templates/plugin/.*"
        r"|millstream-[\d.]+\.dist-info/.*"
    )
    assert [name for name in names if not kinds.fullmatch(name)] == []
    assert [name for name in names if name.endswith("_test.py")] == []


def test_record_lists_every_file(installed: pathlib.Path) -> None:
    rows = list(csv.reader(io.StringIO(read_distribution(installed, "RECORD"))))
    names = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert {row[0] for row in rows} == names
    for name, digest, size in rows:
        if name.endswith("/RECORD"):
            continue
        data = (installed / name).read_bytes()
        expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={expected}", len(data)), name


def test_archive_depends_on_its_contents_alone() -> None:
    with zipfile.ZipFile(wheel_path()) as archive:
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in entries}
    assert modes["millstream/millstream_plugin_probe"] == 0o755
    assert modes["millstream/__init__.py"] == 0o644
    names = [entry.filename for entry in entries[:-1]]
    assert names == sorted(names)
    assert entries[-1].filename.endswith("/RECORD")


def test_no_path_of_the_building_machine_is_left(installed: pathlib.Path) -> None:
    home = os.path.expanduser("~").encode() + b"/"
    forbidden = [b"bazel-out", b"execroot", b"/_bazel_", b"-sandbox/", home]
    for path in installed.rglob("*"):
        if path.is_file() and path.parent.name != "libs":
            data = path.read_bytes()
            assert [text for text in forbidden if text in data] == [], path


def test_libraries_have_names_that_no_other_package_has(installed: pathlib.Path) -> None:
    libraries = sorted((installed / "millstream/libs").iterdir())
    assert len(libraries) > 10
    for path in libraries:
        assert re.fullmatch(r"lib[\w+.]+-[0-9a-f]{8}\.so(?:\.\d+)*", path.name), path
        assert elf.soname(path) == path.name
        assert elf.run_path(path) == ["$ORIGIN"]


def test_symbols_that_others_carry_have_names_of_our_own(installed: pathlib.Path) -> None:
    for path in elf_files(installed):
        names = elf.exported(path)
        assert [name for name in names if "google" in name or "dnnl" in name] == [], path
    (protobuf,) = (installed / "millstream/libs").glob("libprotobuf-*")
    assert any(name.startswith("_ZN6millst8protobuf") for name in elf.exported(protobuf))


def test_libraries_are_found_in_the_wheel(installed: pathlib.Path) -> None:
    libraries = {path.name for path in (installed / "millstream/libs").iterdir()}
    used = set()
    for path in elf_files(installed):
        needed = set(elf.needed(path)) - vendor.PROVIDED
        assert needed <= libraries, path
        used |= needed
    assert used == libraries
    package = installed / "millstream"
    assert elf.run_path(package / "_runtime.abi3.so") == ["$ORIGIN/libs"]
    for plugin in (package / "plugins").iterdir():
        assert elf.run_path(plugin) == ["$ORIGIN/../libs"]


def test_package_exports_its_entry_points_alone(installed: pathlib.Path) -> None:
    package = installed / "millstream"
    assert elf.exported(package / "_runtime.abi3.so") == ["PyInit__runtime"]
    for name in ("codecs", "regex"):
        assert elf.exported(package / name / f"libmillstream_{name}.so") == [f"millstream_{name}"]
    for plugin in (package / "plugins").iterdir():
        assert elf.exported(plugin) == ["ms_plugin_entry"]


def test_metadata_asks_for_numpy_and_offers_more(installed: pathlib.Path) -> None:
    metadata = email.message_from_string(read_distribution(installed, "METADATA"))
    assert metadata["Name"] == "millstream"
    assert metadata["Requires-Python"] == ">=3.11"
    check = f'millstream-plugin-check=={metadata["Version"]}; extra == "plugin-check"'
    cluster = f'millstream-cluster=={metadata["Version"]}; extra == "cluster"'
    assert metadata.get_all("Requires-Dist") == ["numpy>=1.24", cluster, check]
    assert metadata.get_all("Provides-Extra") == ["cluster", "plugin-check"]
    assert str(metadata.get_payload()).lstrip().startswith("# Millstream")
    tag = email.message_from_string(read_distribution(installed, "WHEEL"))["Tag"]
    assert tag == "cp311-abi3-manylinux_2_34_x86_64"
    assert wheel_path().name == f"millstream-{metadata['Version']}-{tag}.whl"
    version = run(installed, "import millstream; print(millstream.__version__)").strip()
    assert metadata["Version"] == version
    scripts = read_distribution(installed, "entry_points.txt")
    assert scripts == "[console_scripts]\nmillstream = millstream.__main__:main\n"


def test_licenses_of_the_libraries_come_along(installed: pathlib.Path) -> None:
    (folder,) = installed.glob("*.dist-info/licenses")
    packages = {path.parent.name for path in folder.rglob("copyright")}
    assert {
        "libdnnl2",
        "libgif7",
        "libgomp1",
        "libjpeg62-turbo",
        "libpng16-16",
        "libprotobuf32",
        "libxbyak-dev",
    } <= packages


IMPORT = """
import sys, numpy
before = set(sys.modules)
import millstream
loaded = set(sys.modules) - before
foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
maps = open("/proc/self/maps").read()
libraries = [name for name in ("libmillstream_cpu", "libdnnl", "libOpenCL") if name in maps]
slow = {"asyncio", "ctypes", "email", "http", "multiprocessing", "unittest", "xml"}
ours = [name for name in loaded if name.startswith("millstream")]
print(sorted(foreign - {"numpy"}), libraries, sorted(slow & loaded), len(ours))
"""


# What takes time is what is loaded; how long it takes is told in docs/performance.md.
def test_import_is_silent_and_loads_little(installed: pathlib.Path) -> None:
    told, ours = run(installed, IMPORT).rsplit(maxsplit=1)
    assert told == "['millstream'] [] []"
    assert int(ours) < 120


TRAIN = """
import numpy as np
import millstream as tf
x = tf.placeholder(tf.float32, [None, 8, 8, 1])
filters = tf.Variable(tf.truncated_normal([3, 3, 1, 4], stddev=0.3, seed=1))
features = tf.nn.relu(tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME"))
loss = tf.reduce_mean(tf.square(tf.reduce_mean(features, axis=[1, 2, 3]) - 1.0))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
tf.summary.image("x", x)
picture = tf.summary.merge_all()
images = np.linspace(0, 1, 4 * 64, dtype=np.float32).reshape(4, 8, 8, 1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train], {x: images})[0] for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0], losses
    summary = tf.Summary.FromString(session.run(picture, {x: images}))
    assert len(summary.value) == 3
for line in open("/proc/self/maps"):
    if ".so" in line:
        print(line.split(None, 5)[5].strip())
"""


def test_its_own_plugin_passes_the_kit(
    installed: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = tmp_path_factory.mktemp("both")
    for wheel in (wheel_path(), plugin_check_wheel_path()):
        unpack(site, wheel)
    # As pip does; zipfile leaves the mode behind.
    (site / "millstream_plugin_check/millstream_plugin_check").chmod(0o755)
    arguments = [str(site / "millstream/plugins/libmillstream_cpu.so"), "--suite", "devices"]
    # The suite of threads needs the file of cases.
    arguments += ["--suite", "threads"]
    program = f"from millstream.__main__ import main; main(['plugin-check', *{arguments!r}])"
    report = run(site, program)
    assert " 0 failed, " in report.splitlines()[-1], report
    assert re.search("THREADS-STATE +PASS", report)


def test_without_the_kit_the_command_says_what_to_install(installed: pathlib.Path) -> None:
    program = (
        "import sys\nfrom millstream.__main__ import main\n"
        "sys.stderr = sys.stdout\nprint(main(['plugin-check', 'any.so']))"
    )
    assert "pip install millstream[plugin-check]" in run(installed, program)


# A parameter server and a worker, each a process.
CLUSTER = """
import millstream as tf
task = tf.cluster.from_environment()
task.start_server()
if task.is_ps:
    task.serve()
with tf.device("/job:ps/task:0"):
    half = tf.Variable(20.0) + 1.0
with tf.Session(task.target) as session:
    session.run(tf.global_variables_initializer())
    print(session.run(2.0 * half))
"""


# Tasks of one host that ask for a token are connected by the wheel's library.
TOKEN = """
import os, pathlib, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "token").write_text("a-text-that-only-tasks-have")
os.environ["MILLSTREAM_CLUSTER_CREDENTIALS"] = str(folder)
"""


def run_cluster(site: pathlib.Path, start: str = "") -> list[str]:
    """What the tasks of CLUSTER print, and the status with which the cluster ends."""
    task = f"import sys; sys.path.insert(0, {str(site)!r})\n{CLUSTER}"
    command = ["/usr/bin/python3", "-I", "-B", "-c", task]
    program = f"import millstream as tf\nprint(tf.cluster.LocalCluster({command!r}, ps=1).run())"
    return run(site, start + program).splitlines()


def test_the_wheel_of_clusters_connects_processes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    site = tmp_path_factory.mktemp("cluster")
    for wheel in (wheel_path(), cluster_wheel_path()):
        unpack(site, wheel)
    assert run_cluster(site, TOKEN) == ["worker:0| 42.0", "0"]


def test_without_the_wheel_of_clusters_the_error_names_it(installed: pathlib.Path) -> None:
    *lines, status = run_cluster(installed, TOKEN)
    assert status == "1"
    assert [line for line in lines if "pip install millstream[cluster]" in line] != []


def test_tasks_of_one_host_need_no_library(installed: pathlib.Path) -> None:
    assert run_cluster(installed) == ["worker:0| 42.0", "0"]


def test_the_wheel_of_clusters_brings_its_libraries(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    site = unpack(tmp_path_factory.mktemp("cluster"), cluster_wheel_path())
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"wheel: {cluster_wheel_path().stat().st_size / 1e6:.1f} MB, installed: {size:,} B")
    assert size <= MAX_BYTES_OF_CLUSTER_WHEEL
    package = site / "millstream_cluster"
    library = package / "transports/libmillstream_grpc.so"
    assert elf.exported(library) == ["millstream_network"]
    assert elf.run_path(library) == ["$ORIGIN/../libs"]
    libraries = {path.name for path in (package / "libs").iterdir()}
    for path in elf_files(site):
        assert set(elf.needed(path)) - vendor.PROVIDED <= libraries, path
        assert [name for name in elf.exported(path) if "google" in name] == [], path
    owners = {path.parent.name for path in site.glob("*.dist-info/licenses/*/copyright")}
    assert {"libgrpc29", "libssl3"} <= owners


def test_unpacked_wheel_trains_with_its_own_libraries(installed: pathlib.Path) -> None:
    mapped = {pathlib.Path(line) for line in run(installed, TRAIN).splitlines()}
    ours = {path.name for path in mapped if installed in path.parents}
    assert [name for name in ours if name.startswith("libmillstream_cpu")] != []
    carried = {re.sub(r"-[0-9a-f]{8}\.so.*", "", name) for name in ours}
    assert {"libdnnl", "libgomp", "libprotobuf", "libpng16"} <= carried
    others = {path.name for path in mapped if installed not in path.parents}
    for library in ["libdnnl", "libgomp", "libprotobuf", "libabsl", "libpng", "libOpenCL"]:
        assert [name for name in others if name.startswith(library)] == []
    # Those of files of images and of regular expressions are loaded when they are first needed.
    lazy = re.compile("libgif|libjpeg|libre2|millstream_(codecs|regex)")
    assert [path for path in mapped if lazy.search(path.name)] == []


FILES = """
import millstream as tf
image = tf.constant(list(range(0, 240, 10)), tf.uint8, [2, 4, 3])
gif = b"GIF89a\\1\\0\\1\\0\\x80\\0\\0\\1\\2\\3\\4\\5\\6,\\0\\0\\0\\0\\1\\0\\1\\0\\0\\2\\2L\\1\\0;"
with tf.Session() as session:
    for encode in (tf.image.encode_png, tf.image.encode_jpeg):
        assert session.run(tf.image.decode_image(encode(image))).shape == (2, 4, 3)
    assert session.run(tf.image.decode_gif(gif)).tolist() == [[[[4, 5, 6]]]]
for line in open("/proc/self/maps"):
    if ".so" in line:
        print(line.split(None, 5)[5].strip())
"""


def test_unpacked_wheel_reads_images_with_its_own_libraries(installed: pathlib.Path) -> None:
    mapped = {pathlib.Path(line) for line in run(installed, FILES).splitlines()}
    libraries = [path for path in mapped if re.search("libgif|libjpeg|libpng", path.name)]
    assert len(libraries) == 3
    assert [path for path in libraries if installed not in path.parents] == []


REGEXES = """
import millstream as tf
with tf.Session() as session:
    assert session.run(tf.strings.regex_replace("abab", "a(b)", "<\\\\1>")) == b"<b><b>"
for line in open("/proc/self/maps"):
    if ".so" in line:
        print(line.split(None, 5)[5].strip())
"""


def test_unpacked_wheel_matches_with_its_own_library(installed: pathlib.Path) -> None:
    mapped = {pathlib.Path(line) for line in run(installed, REGEXES).splitlines()}
    (library,) = [path for path in mapped if path.name.startswith("libre2")]
    assert installed in library.parents
