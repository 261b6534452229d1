"""Byte code of Python files, which every process that imports them would otherwise make for itself.

    python_bytecode(name, srcs)

Tests write none: their folders go when they end. As data of a library it lies where Python looks for
it, beside the sources, and is loaded without a look at them.
"""

def _python_bytecode(ctx):
    package = ctx.label.package + "/"
    outputs = []
    arguments = ctx.actions.args()
    for source in ctx.files.srcs:
        if not source.short_path.startswith(package):
            fail("python_bytecode %s: %s is of another package" % (ctx.label, source.short_path))
        folder, separator, file = source.short_path[len(package):].rpartition("/")

        # The version is that of //tools:python3_runtime, see compile_python_test.
        stem = file[:-len(".py")]
        output = ctx.actions.declare_file(
            "%s%s__pycache__/%s.cpython-311.pyc" % (folder, separator, stem),
        )
        arguments.add(source)
        arguments.add(output)
        outputs.append(output)
    arguments.use_param_file("@%s")
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [ctx.file._compiler.path, arguments],
        inputs = ctx.files.srcs + [ctx.file._compiler],
        outputs = outputs,
        # Sets of texts are written in one order.
        env = {"PYTHONHASHSEED": "0"},
        mnemonic = "CompilePython",
        progress_message = "Compiling %d Python files of %s" % (len(outputs), ctx.label),
    )
    return [DefaultInfo(files = depset(outputs))]

python_bytecode = rule(
    implementation = _python_bytecode,
    attrs = {
        "srcs": attr.label_list(
            allow_files = [".py"],
            doc = "Files of this package.",
            mandatory = True,
        ),
        "_compiler": attr.label(
            allow_single_file = True,
            default = "//tools:compile_python.py",
        ),
    },
)
