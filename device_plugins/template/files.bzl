"""The files of the template, which is installed with the package."""

TEMPLATE_FILES = [
    "CMakeLists.txt",
    "README.md",
    "c/CMakeLists.txt",
    "c/exports.lds",
    "c/tiny_plugin.c",
    "device.cc",
    "device.h",
    "exports.lds",
    "kernels.cc",
    "package/acme_plugin/__init__.py",
    "package/pyproject.toml",
    "plugin.cc",
    "queue.h",
    "statistics.cc",
    "swish.cc",
    "train.py",
]
