"""Instructions for wide vectors are only in functions that are called where the processor has them.

If a function were compiled for several instruction sets under one name, the linker would keep any
one of the copies, and a processor without that set would stop at its first wide instruction.
"""

from __future__ import annotations

import collections
import functools
import re
import subprocess

PLUGIN = "device_plugins/cpu/libmillstream_cpu.so"
# GCC names what it splits off a function, or copies of it, after that function.
FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
WIDE_REGISTER = re.compile(r"%[yz]mm\d")
# GCC makes them of complex numbers' arithmetic although it may not contract.
FUSED_IN_TURN = re.compile(r"\tvfm(addsub|subadd)")
OPMASK_OR_ZMM = re.compile(r"%zmm\d|%k[0-7]\b|%[xy]mm(1[6-9]|2\d|3[01])\b")


@functools.cache
def wide_functions() -> dict[str, set[str]]:
    """Return the functions that have instructions of a kind, by their names.

    The kinds are "avx", "avx512", and "fused in turn": multiplications and additions in one, of
    which each second one subtracts.
    """
    found = collections.defaultdict(set)
    name = ""
    with subprocess.Popen(
        ["objdump", "--disassemble", "--no-show-raw-insn", PLUGIN],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            start = FUNCTION.match(line)
            if start is not None:
                name = start["name"]
                continue
            if FUSED_IN_TURN.search(line):
                found["fused in turn"].add(name)
            if OPMASK_OR_ZMM.search(line):
                found["avx512"].add(name)
            elif WIDE_REGISTER.search(line) or re.search(r"\tv[a-z]", line):
                found["avx"].add(name)
    assert process.returncode == 0
    return found


def test_no_loop_fuses_sums_and_differences() -> None:
    assert wide_functions()["fused in turn"] == set()


def test_wide_code_is_in_functions_for_its_set_alone() -> None:
    found = wide_functions()
    avx, avx512 = found["avx"], found["avx512"]
    assert len([name for name in avx if "InAvx2" in name]) > 100
    assert len([name for name in avx512 if "InAvx512" in name]) > 100
    # MultiplyLow of philox.cc is written for each set by hand.
    allowed = re.compile(r"InAvx2|InAvx512|MultiplyLow")
    assert [name for name in sorted(avx | avx512) if not allowed.search(name)] == []
    assert [name for name in sorted(avx512) if "InAvx2" in name] == []
