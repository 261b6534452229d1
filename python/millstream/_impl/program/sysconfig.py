"""Where the package's headers and libraries are, for building plugins."""

from __future__ import annotations

from millstream._impl.base.package import FOLDER
from millstream._impl.base.public import public

CXX11_ABI_FLAG = public("sysconfig.CXX11_ABI_FLAG", "CXX11_ABI_FLAG")(1)
MONOLITHIC_BUILD = public("sysconfig.MONOLITHIC_BUILD", "MONOLITHIC_BUILD")(0)


@public("sysconfig.get_include")
def get_include() -> str:
    """The folder of the headers: plugins include ``"millstream/plugin.h"``.

    Examples
    --------
    >>> import os
    >>> os.path.isfile(os.path.join(tf.sysconfig.get_include(), "millstream", "plugin.h"))
    True
    """
    return str(FOLDER / "include")


@public("sysconfig.get_lib")
def get_lib() -> str:
    """The folder of the package, in which its libraries are.

    Examples
    --------
    >>> import os
    >>> os.path.isdir(tf.sysconfig.get_lib())
    True
    """
    return str(FOLDER)


@public("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Options of the compiler for a plugin.

    Examples
    --------
    >>> tf.sysconfig.get_compile_flags()[0] == f"-I{tf.sysconfig.get_include()}"
    True
    """
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]


@public("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Options of the linker for a plugin: none, the host hands a plugin what it calls.

    Examples
    --------
    >>> tf.sysconfig.get_link_flags()
    []
    """
    return []
