"""fuzz_target(name, deps, data): a fuzz target of <name>.cc, whose corpus is corpus/<name>."""

load("//tools:build_defs.bzl", "ms_cc_binary", "ms_cc_library")

def fuzz_target(name, deps, data = [], testonly = False):
    """A target that libFuzzer drives, and the test that feeds it its corpus.

    <name>_corpus_test is the test; <name>_fuzzer is for --config=fuzz alone, which brings libFuzzer's main().

    Args:
      name: the target; <name>.cc defines LLVMFuzzerTestOneInput.
      deps: what it drives.
      data: what it reads as it runs.
      testonly: whether it drives what is for tests alone.
    """
    corpus = native.glob(["corpus/%s/**" % name])
    ms_cc_library(
        name = name,
        srcs = [name + ".cc"],
        deps = deps + [":target"],
        testonly = testonly,
        alwayslink = True,
    )
    native.cc_test(
        name = name + "_corpus_test",
        size = "small",
        args = ["testing/fuzz/corpus/" + name],
        data = corpus + data,
        deps = [
            ":" + name,
            ":corpus_test_main",
        ],
    )
    ms_cc_binary(
        name = name + "_fuzzer",
        srcs = [],
        linkopts = ["-fsanitize=fuzzer"],
        linkstatic = False,
        tags = ["manual"],
        testonly = testonly,
        deps = [":" + name],
    )
