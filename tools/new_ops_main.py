"""Adds a made-up op of each of five families to a copy of the tree, and tests them there.

An op stands in its category's definition file, its family's kernel file, its gradient file and its
family's file of tests. Whatever else knows of ops is derived from these, found, or written by
``--update``. The check adds lines to these four files alone. A test that fails then names another
file that would have had to change.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import count_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What is added to each file: by family, the op of it.
UNARY = {
    "framework/ops/math_unary.cc": """
MILLSTREAM_OP("MadeUpCube")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Shape(UnchangedShape)
    .Doc(R"(Gives the cube of each element.)");
""",
    "kernels/elementwise/simple_functions.cc": """
struct MadeUpCubeOp {
  static constexpr int64_t kPicoseconds = 250;
  template <typename T>
  static T Apply(T x) {
    return x * x * x;
  }
};
const ms::Registered made_up_cube = ms::RegisterRow<ElementwiseKernel>(
    "MadeUpCube", kUnaryRow<MadeUpCubeOp, float, double>,
    ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}).InPlace(0, 0));
""",
    "core/gradients/math.cc": """
Status MadeUpCubeGradient(GradientContext* context) {
  const Output square = context->builder()->Op("Square", {context->input(0)});
  context->SetDx(0, Mul(context, context->dy(0), Scaled(context, square, 3)));
  return absl::OkStatus();
}
MILLSTREAM_GRADIENT("MadeUpCube", MadeUpCubeGradient);
""",
    "testing/ops/elementwise_unary.py": """
define_tests(
    "MadeUpCube", cases=one_tensor, reference=rounded_unary(lambda x: x * x * x, 4)
)
""",
}
COMPARISON = {
    "framework/ops/compare.cc": """
MILLSTREAM_OP("MadeUpBelow")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr(TypeAttr("T", kRealTypes))
    .Shape(BroadcastBinaryShape)
    .Doc(R"(Tells where x < y, with broadcasting.)");
""",
    "kernels/elementwise/compare.cc": """
const ms::Registered made_up_below = RegisterOrder<LessOp, false>("MadeUpBelow");
""",
    "testing/ops/elementwise_binary.py": """
_define_binary("MadeUpBelow", _comparison(np.less))
""",
}
REDUCTION = {
    "framework/ops/reduce.cc": """
MILLSTREAM_OP("MadeUpLeast").With(NumberReduction).Doc(R"(Finds the smallest elements.)");
""",
    "kernels/reduce/max_min.cc": """
const ms::Registered made_up_least =
    RegisterReduce("MadeUpLeast", kTable<MinReducer>, kOrderedTypes);
""",
    "core/gradients/reduce.cc": """
MILLSTREAM_GRADIENT("MadeUpLeast", ExtremeGradient);
""",
    "testing/ops/reductions.py": """
_define_reduction("MadeUpLeast", _extremum(np.min, False))
""",
}
SEGMENT = {
    "framework/ops/array_segments.cc": """
MILLSTREAM_OP("MadeUpSegmentSum")
    .Input("data: T")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr(TypeAttr("Tindices", kIndexTypes))
    .Attr(TypeAttr("Tnumsegments", kIndexTypes, " = int32"))
    .Shape(UnsortedSegmentShape)
    .Doc(R"(Sums the parts of data that have the same id.)");
""",
    "kernels/array/segment_sum.cc": """
const ms::Registered made_up_segment_sum = RegisterSegmentSum("MadeUpSegmentSum");
""",
    "core/gradients/segments.cc": """
MILLSTREAM_GRADIENT("MadeUpSegmentSum", SumGradient);
""",
    "testing/ops/rows.py": """
define_tests(
    "MadeUpSegmentSum",
    cases=_make_segment_sum,
    reference=_segment_sum,
    gradient=[Check(lambda a: gen_ops.made_up_segment_sum(a, _SEGMENTS, 3), (_X,))],
    determinism=LARGE_ROWS,
)
""",
}
OPTIMIZER = {
    "framework/ops/training.cc": """
MILLSTREAM_OPTIMIZER_OP("ApplyMadeUpAscent", "var")
    .Input("alpha: T")
    .Gradient("delta", "T")
    .Attr(TypeAttr("T", kNumberTypes))
    .Attr("use_locking: bool = false")
    .Shape(StepShape<1, 2>)
    .Doc(R"(Goes one step of gradient ascent: var += alpha * delta.)");
""",
    "kernels/training/apply_gradient_descent.cc": """
template <typename T>
struct MadeUpAscent : GradientDescent<T> {
  static T RatesOf(const T* rest) { return -rest[0]; }
};
const ms::Registered made_up_ascent =
    RegisterApply(kOptimizer<MadeUpAscent>, "ResourceApplyMadeUpAscent",
                  "_MultiResourceApplyMadeUpAscent");
""",
    "testing/ops/optimizers.py": """
def _made_up_ascent(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    at["var"][row] += rates["alpha"] * gradient


_OPTIMIZERS["MadeUpAscent"] = _Optimizer(_made_up_ascent, sparse=False, dtypes=_COMPLEX_TOO)
define_tests(
    "ApplyMadeUpAscent", cases=_make_step, reference=_step, determinism=AS_ON_HANDLES
)
define_tests(
    "ResourceApplyMadeUpAscent", cases=_make_step, reference=_step, determinism=_large_step
)
""",
}
FAMILIES = (UNARY, COMPARISON, REDUCTION, SEGMENT, OPTIMIZER)

UPDATES = (
    ("//framework/ops:list_signatures", "--update"),
    ("//testing/conformance:list_not_implemented", "--update"),
)

# The tests that look at every op, or at lists of ops. Those that run cases of every op run those of
# the made-up ones: the others are the tree's, whose tests run them. One is left out, which takes
# longer than all of these: //framework/plugin/check:installed_plugins_test tries the kernels with
# the cases of //testing/ops, and names the ops that have none.
MADE_UP = "MadeUp"
OPTIONS = ("--config=overlap", f"--test_env=TESTED_OPS={MADE_UP}")
TESTS = (
    "//core/import:import_refs_test",
    "//core/session:public_kernels_test",
    "//framework/ops/...",
    "//kernels/elementwise:fused_test",
    "//python/generate/...",
    "//python/millstream:argument_types_test",
    "//python/millstream:docs_test",
    "//python/millstream:public_names_test",
    "//testing/api/...",
    "//testing/conformance:gradient_check_test",
    "//testing/conformance:op_conformance_test",
    "//testing/conformance:second_order_test",
    "//testing/determinism/...",
    "//testing/fuzz:op_attr_corpus_test",
    "//testing/ops/...",
    "//testing/properties/...",
)

_CXX_END = "\n}  // namespace\n"


# Strings and comments of a line; then names of types, functions and what is private, no members.
_NO_CODE = re.compile(r'R"\((?:.|\n)*?\)"|"[^"\n]*"|//.*|#.*')
_NAME = re.compile(r"(?<![\w.:])(?:[A-Z][a-z]|_[a-z])\w+")


def unknown_names(added: str, file: str) -> list[str]:
    """Names in added lines that the rest of the file does not have: it was divided, or renamed."""
    known = set(_NAME.findall(_NO_CODE.sub("", file)))
    return sorted(
        name
        for name in set(_NAME.findall(_NO_CODE.sub("", added))) - known
        if not name.startswith((MADE_UP, "_made_up"))
    )


def outdated_lines(_: list[str]) -> list[str]:
    """What in the lines to add does not go with their files; the check itself takes minutes."""
    problems = []
    for family in FAMILIES:
        for name, text in family.items():
            path = ROOT / name
            if not path.is_file():
                problems.append(f"{name}: there is no such file")
                continue
            problems += [
                f"{name}: it has no {unknown}, which tools/new_ops_main.py names"
                for unknown in unknown_names(text, path.read_text())
            ]
    return problems


def copy_tree(to: pathlib.Path) -> None:
    """Copy the files that git tracks, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = ROOT / name, to / name
        if not source.exists() and not source.is_symlink():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def add(path: pathlib.Path, text: str) -> None:
    """Add lines to a family's file: at the end of its unnamed namespace, or of a module."""
    before = path.read_text()
    if path.suffix == ".cc":
        body, end, rest = before.rpartition(_CXX_END)
        if not end:
            raise ValueError(f"{path} has no unnamed namespace")
        path.write_text(body + text + end + rest)
    else:
        path.write_text(before + "\n" + text)


def run(copy: pathlib.Path, *arguments: str) -> int:
    """Run Bazel in the copy; its exit status."""
    return subprocess.run(["./bazelw", *arguments], cwd=copy, check=False).returncode


def main() -> int:
    """Make the copy, add the ops and run the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the copy, which stays")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        copy = arguments.keep or pathlib.Path(temporary)
        copy_tree(copy)
        for family in FAMILIES:
            for name, text in family.items():
                add(copy / name, text)
        for target, *rest in UPDATES:
            if run(copy, "run", *OPTIONS, target, "--", *rest) != 0:
                print(f"{target} could not be run", file=sys.stderr)
                print("0 passed, 1 failed")
                return 1
        events = copy / "events.json"
        reported = f"--build_event_json_file={events}"
        failed = run(copy, "test", "--keep_going", *OPTIONS, reported, *TESTS)
        count = count_tests.count_events(
            [json.loads(line) for line in events.read_text().splitlines()]
        )
        # What Bazel built for a copy that goes would stay in its cache.
        run(copy, *(("shutdown",) if arguments.keep else ("clean", "--expunge")))
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return failed


if __name__ == "__main__":
    sys.exit(main())
