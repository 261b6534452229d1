"""The rooms of core/ and which other rooms each may include.

A room lists only rooms that stand above it in the table, so the rooms have no circle. Each room's BUILD
takes its visibility from here; Bazel enforces it. A test that needs a room below its own takes it from
//core/testing.
"""

# Room: the rooms that it may include.
_MAY_INCLUDE = {
    "io": [],
    "checkpoint": ["io"],
    "graph": [],
    "import": ["graph"],
    "gradients": ["graph"],
    "device": ["graph"],
    "resources": ["graph", "device"],
    "placement": ["graph", "device"],
    "partition": ["graph", "device", "placement"],
    "step": ["graph", "device", "resources", "partition"],
    "host": ["graph", "device", "resources", "step"],
    "numerics": ["io", "graph", "import", "device", "resources", "step", "host"],
    "structural": ["io", "checkpoint", "graph", "device", "resources", "step", "host"],
    "passes": ["graph", "resources", "step"],
    "loops": ["graph"],
    "plan": ["graph", "device", "resources", "partition", "step", "host", "numerics", "passes"],
    "dynamic": ["graph", "device", "resources", "partition", "step", "host", "numerics", "structural"],
    "session": [
        "io",
        "graph",
        "import",
        "device",
        "resources",
        "placement",
        "partition",
        "step",
        "host",
        "numerics",
        "structural",
        "passes",
        "loops",
        "plan",
        "dynamic",
    ],
    "c_api": [
        "io",
        "checkpoint",
        "graph",
        "import",
        "gradients",
        "step",
        "host",
        "structural",
        "passes",
        "session",
    ],
}

# What is outside of the rooms and uses one directly. Front ends have c_api alone.
_OUTSIDE = {
    "io": [
        "//distributed_runtime",
        "//testing",
    ],
    "checkpoint": ["//testing"],
    "graph": [
        "//benchmarks",
        "//distributed_runtime",
    ],
    "gradients": ["//benchmarks"],
    "device": ["//distributed_runtime"],
    "resources": ["//distributed_runtime"],
    "placement": ["//distributed_runtime"],
    "partition": ["//distributed_runtime"],
    "step": ["//distributed_runtime"],
    "host": ["//distributed_runtime"],
    "numerics": ["//distributed_runtime"],
    "structural": ["//distributed_runtime"],
    "plan": [
        "//benchmarks",
        "//distributed_runtime",
    ],
    "session": [
        "//benchmarks",
        "//distributed_runtime",
    ],
    "c_api": [
        "//distributed_runtime",
        "//python",
        "//testing",
    ],
}

def room_visibility(room):
    """The default_visibility of the room's package."""
    above = []
    for name, included in _MAY_INCLUDE.items():
        for other in included:
            if other not in above:
                fail("core/rooms.bzl: '%s' may include only rooms that stand above it, not '%s'" % (name, other))
        above.append(name)
    if room not in above:
        fail("core/rooms.bzl: no room '%s'" % room)
    users = [name for name, included in _MAY_INCLUDE.items() if room in included]
    return (["//core/%s:__pkg__" % user for user in users] +
            ["//core/testing:__pkg__"] +
            ["%s:__subpackages__" % user for user in _OUTSIDE.get(room, [])])
