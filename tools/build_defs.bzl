"""Millstream's build rules: thin macros that add our flags, and kinds of target that Bazel lacks.

    ms_cc_library(name, srcs, hdrs, deps, copts, ...)      like cc_library
    ms_kernel_library(name, srcs, hdrs, deps, loops, ...)  a library for plugins: hidden, kept whole
    ms_cc_test(name, srcs, deps, copts, size, ...)         GoogleTest with its main()
    ms_cc_tests(name, environments, srcs, deps, ...)       the same in several environments
    ms_kernel_test(name, srcs, deps, copts, ...)           the same for kernels, on sim as well
    ms_cc_benchmark(name, srcs, deps, copts, ...)          Google Benchmark with its main()
    ms_cc_binary(name, srcs, deps, copts, ...)
    ms_proto_library(name, srcs, deps)                     C++ messages, "millstream/<path>.pb.h"
    ms_plugin(name, srcs, deps, copts, linkopts, ...)      lib<name>.so exporting ms_plugin_entry
    ms_python_extension(name, srcs, deps, copts, ...)      <name>.abi3.so exporting PyInit_<name>
    ms_py_library(name, srcs, deps, data, imports, ...)
    ms_py_binary(name, srcs, deps, data, ...)
    ms_py_test(name, srcs, deps, data, size, ...)          run by pytest

Whatever else is given goes to the native rule. #include paths start at the repository root.
"""

# -Wrestrict and -Wmaybe-uninitialized: GCC 12 raises both falsely, on std::string and on
# absl::StatusOr.
WARNING_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-Wno-sign-compare",
    "-Wno-restrict",
    "-Wno-maybe-uninitialized",
]

# What goes into a plugin keeps its symbols to itself. A unique symbol would be merged across
# libraries behind the version script's back, and would pin the library in memory.
_PLUGIN_COPTS = WARNING_COPTS + [
    "-fvisibility=hidden",
    "-fno-gnu-unique",
]

# C++ only; GCC warns about it in C.
_PLUGIN_CXX_COPTS = ["-fvisibility-inlines-hidden"]

# For loops over elements: -O2 with the vectorizer of -O3. What else -O3 does made both plugins 1.7 MB
# larger, and none of some 100 kernels faster.
KERNEL_LOOP_COPTS = [
    "-O2",
    "-ftree-vectorize",
] + select({
    "//tools:clang": [],  # has no choice of cost models
    "//conditions:default": ["-fvect-cost-model=dynamic"],
})

# With all of -O3: there are few loops here.
_PRODUCT_COPTS = [
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
]

# What kernel libraries are compiled with, by what their loops are (ms_kernel_library). Each of these
# sets of options has a header that is parsed once (tools/precompiled).
KERNEL_LOOPS = {
    "none": [],
    "any": KERNEL_LOOP_COPTS,
    # The two -fno flags let the compiler vectorize square roots and conditions; they give up errno and
    # floating-point exception flags, not results.
    "math": KERNEL_LOOP_COPTS + [
        "-fno-math-errno",
        "-fno-trapping-math",
    ],
    "updates": KERNEL_LOOP_COPTS + ["-fno-math-errno"],
    "products": _PRODUCT_COPTS,
    # Multiplications and additions in one, where the set has them (kernels/simd/instruction_set.h).
    "fused_products": _PRODUCT_COPTS + [
        "-ffp-contract=fast",
        "-DMS_FUSED_MULTIPLY_ADD",
    ],
}

# For what no step runs, where size counts more than speed: graphs are read, checked and rewritten in
# it, messages parsed, plugins loaded. A third less code than by -O2.
SMALL_COPTS = ["-Os"]

# For what stands in every step's way. Nobody replaces our functions at run time, so calls within a
# file may be inlined though the code may end up in a shared object.
ONE_DEFINITION_COPTS = ["-fno-semantic-interposition"]

# For the tests' own code, which runs for milliseconds: a quarter less time to compile 320 files.
TEST_COPTS = select({
    "//tools:debug": [],
    "//conditions:default": ["-O1"],
})

# What most files include is parsed once for all that have the same options (tools/precompiled): half of
# the time that a small file takes. GCC may crash where the options of optimization differ.
_PRECOMPILED_TESTS = ("tests", "test.h")
_PRECOMPILED_RUNTIME = ("runtime", "runtime.h")
_PRECOMPILED_SMALL_RUNTIME = ("small_runtime", "runtime.h")

def _precompiled_copts(precompiled):
    return ["-include", "$(BINDIR)/tools/precompiled/%s/%s" % precompiled]

def _precompiled_deps(precompiled):
    return ["//tools/precompiled:" + precompiled[0]]

_NO_SANITIZER = ["nosan"]

# Kernels share oneDNN's team of threads, which is OpenMP's. tsan cannot see into that runtime: under
# it kernels use the host's threads.
_KERNEL_THREADS_COPTS = select({
    "//tools:tsan": [],
    "//conditions:default": ["-fopenmp"],
})
_KERNEL_THREADS_LINKOPTS = select({
    "//tools:tsan": [],
    "//conditions:default": ["-lgomp"],
})

# Loops are compiled for several instruction sets (kernels/simd/instruction_set.h), some of which have
# fused multiply-add, and give the same bits in all: the compiler must not round once where the
# baseline rounds twice. -Wpsabi: functions that pass wide vectors are inlined where there are any.
_KERNEL_COPTS = [
    "-ffp-contract=off",
    "-Wno-psabi",
]

def ms_cc_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A C++ (or C) library with our warnings.

    GoogleTest cannot be linked into a shared object, so a testonly library is linked statically.
    """
    if kwargs.get("testonly"):
        kwargs.setdefault("linkstatic", True)
    if any([src.endswith(".cc") for src in srcs]) and copts in ([], SMALL_COPTS):
        precompiled = _PRECOMPILED_SMALL_RUNTIME if copts else _PRECOMPILED_RUNTIME
        copts = copts + _precompiled_copts(precompiled)
        deps = deps + _precompiled_deps(precompiled)
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = WARNING_COPTS + copts,
        **kwargs
    )

def _is_c(srcs):
    return bool(srcs) and all([src.endswith(".c") or src.endswith(".h") for src in srcs])

def _plugin_copts(srcs):
    return _PLUGIN_COPTS + ([] if _is_c(srcs) else _PLUGIN_CXX_COPTS)

def kernel_copts(srcs, loops):
    """What ms_kernel_library compiles `srcs` with."""
    return _plugin_copts(srcs) + _KERNEL_COPTS + KERNEL_LOOPS[loops] + _KERNEL_THREADS_COPTS

def ms_kernel_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        loops = "none",
        copts = [],
        linkopts = [],
        **kwargs):
    """A library for plugins: hidden symbols; kept whole, because kernels register themselves.

    It is compiled for any x86-64; its loops are compiled for wider instruction sets as well where they
    say so by RunLoop (kernels/simd/instruction_set.h).

    Args:
      name: the library.
      srcs: sources.
      hdrs: headers.
      deps: kernel libraries, the plugin headers, third-party libraries.
      loops: what the loops are that it is compiled for: a key of KERNEL_LOOPS.
      copts: more compiler flags.
      linkopts: more linker flags.
      **kwargs: for cc_library.
    """
    kwargs.setdefault("alwayslink", True)

    # Symbols that hide cannot be found across the shared libraries that tests are otherwise made of.
    kwargs.setdefault("linkstatic", True)
    if any([src.endswith(".cc") for src in srcs]) and copts == []:
        precompiled = (loops + "_kernels", "kernel.h")
        copts = _precompiled_copts(precompiled)
        deps = deps + _precompiled_deps(precompiled)
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = kernel_copts(srcs, loops) + copts,
        linkopts = linkopts + _KERNEL_THREADS_LINKOPTS,
        **kwargs
    )

def ms_cc_test(name, srcs, deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest; its main() is added."""
    native.cc_test(
        name = name,
        srcs = srcs,
        deps = deps + ["//third_party:gtest_main"] + _precompiled_deps(_PRECOMPILED_TESTS),
        copts = WARNING_COPTS + TEST_COPTS + _precompiled_copts(_PRECOMPILED_TESTS) + copts,
        size = size,
        **kwargs
    )

def _test_cases(name, srcs, deps, copts):
    """A GoogleTest without main(), which several tests link."""
    ms_cc_library(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = TEST_COPTS + _precompiled_copts(_PRECOMPILED_TESTS) + copts,
        deps = deps + ["//third_party:gtest_main"] + _precompiled_deps(_PRECOMPILED_TESTS),
        alwayslink = True,
    )

def ms_cc_tests(name, environments, srcs, deps = [], copts = [], **kwargs):
    """GoogleTests of the same sources, compiled once, that differ in their environments.

    Args:
      name: <name>_cases is the library of what they share.
      environments: the variables that are set, by the names of the tests.
      srcs: sources.
      deps: as in ms_cc_test.
      copts: more compiler flags.
      **kwargs: for ms_cc_test.
    """
    cases = name + "_cases"
    _test_cases(cases, srcs, deps, copts)
    for test, env in environments.items():
        ms_cc_test(
            name = test,
            srcs = [],
            env = env,
            deps = [":" + cases],
            **kwargs
        )

# Instruction sets narrower than the widest that kernels have code for, by what the names of tests
# that are limited to them end with: what limits our loops
# (kernels/testing:instruction_set_limit) and oneDNN.
_NARROW_SETS = {
    "_avx2": {
        "MILLSTREAM_TEST_ISA": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
    "_baseline": {
        "MILLSTREAM_TEST_ISA": "baseline",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
}

def ms_kernel_test(name, srcs, deps, copts = [], on_sim = True, narrow_sets = False, **kwargs):
    """A GoogleTest of kernels by //kernels/testing:kernel_tester.

    The test <name>_on_sim runs all of it on a simulated device as well; <name>_avx2 and
    <name>_baseline run it as on processors that have no more than that.

    Args:
      name: the test.
      srcs: sources.
      deps: kernel libraries, the kernel tester.
      copts: more compiler flags.
      on_sim: whether there is <name>_on_sim.
      narrow_sets: whether there are <name>_avx2 and <name>_baseline: for kernels that call oneDNN or
        have loops for every instruction set.
      **kwargs: for ms_cc_test.
    """
    cases = name + "_cases"
    _test_cases(cases, srcs, deps, copts)
    devices = {"": []}
    if on_sim:
        devices["_on_sim"] = ["//device_plugins/sim:kernel_test_device"]
    for suffix, device in devices.items():
        # Statically: hidden symbols of the kernels' registry must be one with the tester's.
        ms_cc_test(
            name = name + suffix,
            srcs = [],
            linkstatic = True,
            deps = [":" + cases] + device,
            **kwargs
        )
    for suffix, limit in (_NARROW_SETS if narrow_sets else {}).items():
        ms_cc_test(
            name = name + suffix,
            srcs = [],
            linkstatic = True,
            env = limit,
            deps = [":" + cases, "//kernels/testing:instruction_set_limit"],
            **kwargs
        )

def ms_cc_binary(name, srcs, deps = [], copts = [], **kwargs):
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = deps,
        copts = WARNING_COPTS + copts,
        **kwargs
    )

def ms_cc_benchmark(name, srcs, deps = [], copts = [], **kwargs):
    """A Google Benchmark; its main() is added. `bazel run` it."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        deps = deps + ["//third_party:benchmark_main"],
        copts = WARNING_COPTS + copts,
        **kwargs
    )

def _relative(label, suffix):
    """The label of `suffix` beside the target that `label` names, short form included."""
    if ":" not in label:
        label = label + ":" + label.rpartition("/")[2]
    return label + suffix

def ms_proto_library(name, srcs, deps = [], **kwargs):
    """Messages for C++, made by the system's protoc.

    A file registers as "millstream/<path>", is imported by that name, and gives
    "millstream/<path>.pb.h", so that its descriptors clash with nobody's in the same process. Its
    classes are in the namespace millstream::proto. The .proto files, those of deps included, are
    the target <name>_sources.

    Args:
      name: the C++ library.
      srcs: .proto files of this package.
      deps: other ms_proto_library targets whose files are imported.
      **kwargs: for cc_library.
    """
    for src in srcs:
        if not src.endswith(".proto"):
            fail("ms_proto_library %s: %s is no .proto file" % (name, src))
    visibility = kwargs.pop("visibility", None)
    sources = name + "_sources"
    native.filegroup(
        name = sources,
        srcs = srcs + [_relative(dep, "_sources") for dep in deps],
        visibility = visibility,
    )
    stems = [src[:-len(".proto")] for src in srcs]
    package = native.package_name()
    native.genrule(
        name = name + "_generated",
        srcs = [sources],
        outs = [stem + suffix for suffix in [".pb.h", ".pb.cc"] for stem in stems],
        cmd = "$(execpath //tools:generate_messages) . $(GENDIR) %s" %
              " ".join(["%s/%s" % (package, src) for src in srcs]),
        tools = ["//tools:generate_messages"],
    )
    native.cc_library(
        name = name,
        srcs = [stem + ".pb.cc" for stem in stems],
        hdrs = [stem + ".pb.h" for stem in stems],
        copts = SMALL_COPTS + ["-w"],
        include_prefix = "millstream/" + package,
        deps = deps + ["//third_party:protobuf"],
        visibility = visibility,
        **kwargs
    )

def _exports_test(name, shared_object, arguments):
    """A test that `shared_object` exports what it should and nothing else."""
    native.py_test(
        name = name + "_exports_test",
        srcs = ["//tools:exports_test.py"],
        main = "//tools:exports_test.py",
        args = ["$(rootpath %s)" % shared_object] + arguments,
        data = [shared_object],
        size = "small",
        python_version = "PY3",
        tags = _NO_SANITIZER,
    )

def ms_plugin(name, srcs = [], deps = [], copts = [], linkopts = [], **kwargs):
    """A backend: the shared object lib<name>.so, closed but for ms_plugin_entry.

    All its symbols must be resolved by what it links, so it cannot lean on the process that opens
    it. The test <name>_exports_test checks both.

    Args:
      name: the target is lib<name>.so, and `name` an alias of it.
      srcs: sources of the plugin itself.
      deps: ms_kernel_library targets, the plugin headers, third-party libraries; nothing of core
        or framework.
      copts: more compiler flags.
      linkopts: more linker flags.
      **kwargs: for cc_binary.
    """
    shared_object = "lib%s.so" % name
    visibility = kwargs.pop("visibility", None)
    native.cc_binary(
        name = shared_object,
        srcs = srcs,
        deps = deps,
        copts = _plugin_copts(srcs) + copts,
        additional_linker_inputs = ["//tools:plugin_exports.lds"],
        linkopts = [
            "-Wl,--version-script=$(location //tools:plugin_exports.lds)",
            "-Wl,-z,defs",
            "-Wl,--exclude-libs,ALL",
        ] + linkopts,
        linkshared = True,
        linkstatic = True,
        visibility = visibility,
        **kwargs
    )
    native.alias(
        name = name,
        actual = shared_object,
        visibility = visibility,
    )
    _exports_test(name, shared_object, [
        "--export=ms_plugin_entry",
        "--no-undefined=ms_",
        "--no-undefined=millstream",
    ])

def ms_python_extension(name, srcs, deps = [], copts = [], linkopts = [], imports = [], **kwargs):
    """A Python module in C++ (limited API of 3.11): <name>.abi3.so, closed but for PyInit_<name>.

    Python targets depend on `name`. The test <name>_exports_test checks the exports.

    Args:
      name: the module's name.
      srcs: sources.
      deps: C++ libraries; they are linked into the module.
      copts: more compiler flags.
      linkopts: more linker flags.
      imports: folders to put on Python's path, as in py_library.
      **kwargs: for cc_binary.
    """
    shared_object = name + ".abi3.so"
    visibility = kwargs.pop("visibility", None)
    native.cc_binary(
        name = shared_object,
        srcs = srcs,
        deps = deps + ["//third_party:python_headers"],
        copts = _PLUGIN_COPTS + copts,
        local_defines = ["Py_LIMITED_API=0x030b0000"],
        additional_linker_inputs = ["//tools:python_extension_exports.lds"],
        linkopts = [
            "-Wl,--version-script=$(location //tools:python_extension_exports.lds)",
            "-Wl,--exclude-libs,ALL",
        ] + linkopts,
        linkshared = True,
        linkstatic = True,
        visibility = visibility,
        **kwargs
    )
    native.py_library(
        name = name,
        data = [shared_object],
        imports = imports,
        visibility = visibility,
    )
    _exports_test(name, shared_object, ["--export=PyInit_" + name, "--no-undefined=millstream"])

def ms_py_library(name, srcs = [], deps = [], data = [], imports = [], **kwargs):
    native.py_library(
        name = name,
        srcs = srcs,
        deps = deps,
        data = data,
        imports = imports,
        srcs_version = "PY3",
        **kwargs
    )

def ms_py_binary(name, srcs, deps = [], data = [], **kwargs):
    native.py_binary(
        name = name,
        srcs = srcs,
        deps = deps,
        data = data,
        srcs_version = "PY3",
        python_version = "PY3",
        **kwargs
    )

def ms_py_test(name, srcs, deps = [], data = [], size = "small", tags = [], args = [], **kwargs):
    """Runs the tests in srcs by pytest.

    The working folder is the root of a copy of the repository that holds deps and data.

    Args:
      name: the test.
      srcs: files whose test functions are collected.
      deps: Python libraries.
      data: files that the tests open, by their path from the repository root.
      size: as in py_test.
      tags: "nosan" is added: Python does not run under the sanitizers.
      args: more arguments for pytest.
      **kwargs: for py_test.
    """
    native.py_test(
        name = name,
        srcs = srcs + ["//tools:pytest_main.py"],
        main = "//tools:pytest_main.py",
        args = ["$(rootpath %s)" % src for src in srcs] + args,
        deps = deps,
        data = data,
        size = size,
        srcs_version = "PY3",
        python_version = "PY3",
        tags = tags + [tag for tag in _NO_SANITIZER if tag not in tags],
        **kwargs
    )
