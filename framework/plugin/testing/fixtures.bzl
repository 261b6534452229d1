"""The plugins that the loader's tests load."""

def fixture_plugins(name, fixtures):
    """Shared objects lib<fixture>.so, and the filegroup `name` of them all.

    Args:
      name: the filegroup.
      fixtures: the macros that make each fixture, by its name; see the sources. The name says which source it is:
        one that begins with "device" is made of device_fixture.cc, one that begins with "op" of op_fixture.cc, all
        others of fixture_plugin.c.
    """
    objects = []
    for fixture, macros in fixtures.items():
        source = "fixture_plugin.c"
        for begin in ["device", "op"]:
            if fixture.startswith(begin):
                source = begin + "_fixture.cc"
        in_cpp = source.endswith(".cc")
        shared_object = "lib%s.so" % fixture
        native.cc_binary(
            name = shared_object,
            srcs = [source],
            copts = [
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fvisibility=hidden",
                "-fno-gnu-unique",
            ] + (["-Wno-missing-field-initializers"] if in_cpp else ["-std=c99", "-pedantic", "-Wno-missing-field-initializers"]),
            local_defines = ["FIXTURE_NAME='\"%s\"'" % fixture] + macros,
            additional_linker_inputs = ["//tools:plugin_exports.lds"],
            linkopts = [
                "-Wl,--version-script=$(location //tools:plugin_exports.lds)",
                "-ldl",
            ],
            linkshared = True,
            linkstatic = True,
            testonly = True,
            deps = ["//framework/plugin:plugin_hpp"],
        )
        objects.append(shared_object)
    native.filegroup(
        name = name,
        srcs = objects,
        testonly = True,
        visibility = ["//visibility:public"],
    )
