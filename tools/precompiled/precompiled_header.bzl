"""A header that GCC has parsed once for all files that are compiled with the same options.

    precompiled_header(name, header, copts)

A file takes it by `-include` of the header's copy, beside which GCC finds <header>.gch. GCC compares
the options and reads the header itself where they differ, as other compilers always do.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    copy = ctx.actions.declare_file("%s/%s" % (ctx.label.name, ctx.file.header.basename))
    ctx.actions.expand_template(template = ctx.file.header, output = copy, substitutions = {})
    files = [copy]
    if toolchain.compiler == "gcc" or toolchain.compiler == "compiler":
        parsed = ctx.actions.declare_file(copy.basename + ".gch", sibling = copy)
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            source_file = copy.path,
            output_file = parsed.path,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
            use_pic = True,
        )
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        )
        ctx.actions.run(
            executable = cc_common.get_tool_for_action(
                feature_configuration = features,
                action_name = CPP_COMPILE_ACTION_NAME,
            ),
            arguments = ["-x", "c++-header"] + arguments,
            env = cc_common.get_environment_variables(
                feature_configuration = features,
                action_name = CPP_COMPILE_ACTION_NAME,
                variables = variables,
            ),
            inputs = depset([copy], transitive = [toolchain.all_files]),
            outputs = [parsed],
            mnemonic = "PrecompileHeader",
        )
        files.append(parsed)
    context = cc_common.create_compilation_context(headers = depset(files))
    return [DefaultInfo(files = depset(files)), CcInfo(compilation_context = context)]

precompiled_header = rule(
    implementation = _precompiled_header,
    attrs = {
        "copts": attr.string_list(doc = "The options of the files that take it."),
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
