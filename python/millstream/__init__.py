"""Millstream: build a dataflow graph once, run parts of it many times.

The names are those of graph-mode programs::

    import millstream as tf

    x = tf.placeholder(tf.float32, [None, 2])
    total = tf.reduce_sum(x, axis=1)
    with tf.Session() as sess:
        print(sess.run(total, {x: [[1.0, 2.0]]}))

The examples of the functions assume that line of import and a default session, such as an
``tf.InteractiveSession()``: each can be typed in a shell.
"""

# This file only gathers what the modules list in their __all__.
# ruff: noqa: F403

import typing as _typing

from millstream import app as app
from millstream import compat as compat
from millstream import debugging as debugging
from millstream import dtypes as dtypes
from millstream import errors as errors
from millstream import flags as flags
from millstream import initializers as initializers
from millstream import logging as logging
from millstream import math as math
from millstream import nn as nn
from millstream import plugins as plugins
from millstream import protos as protos
from millstream import random as random
from millstream import summary as summary
from millstream import timeline as timeline
from millstream import train as train
from millstream import version as version
from millstream._impl.base.device_spec import *
from millstream._impl.base.errors import *
from millstream._impl.base.graph_keys import *
from millstream._impl.graph.convert import *
from millstream._impl.graph.default_graph import *
from millstream._impl.graph.graph import *
from millstream._impl.graph.modes import *
from millstream._impl.graph.operation import *
from millstream._impl.graph.random_seed import *
from millstream._impl.graph.scopes import *
from millstream._impl.graph.tensor_protos import *
from millstream._impl.names.missing_names import module_dir as _module_dir
from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.ops.array_creation import *
from millstream._impl.ops.array_join import *
from millstream._impl.ops.array_ops import *
from millstream._impl.ops.binary_ops import *
from millstream._impl.ops.check_ops import *
from millstream._impl.ops.clipping import *
from millstream._impl.ops.control_ops import *
from millstream._impl.ops.gradient_ops import *
from millstream._impl.ops.indexed_slices import *
from millstream._impl.ops.math_ops import *
from millstream._impl.ops.matmul_ops import *
from millstream._impl.ops.random_ops import *
from millstream._impl.ops.reductions import *
from millstream._impl.ops.static_shapes import *
from millstream._impl.ops.tensordot_ops import *
from millstream._impl.ops.type_checks import *
from millstream._impl.program.logging import *
from millstream._impl.session.default_session import *
from millstream._impl.session.op_library import *
from millstream._impl.session.session import *
from millstream._impl.summary.first_names import histogram_summary as histogram_summary
from millstream._impl.summary.first_names import image_summary as image_summary
from millstream._impl.summary.first_names import scalar_summary as scalar_summary
from millstream._impl.values.dtypes import *
from millstream._impl.values.tensor_shape import *
from millstream._impl.variables.initializers import *
from millstream._impl.variables.variable_kinds import *
from millstream._impl.variables.variable_ops import *
from millstream._impl.variables.variable_scope import *
from millstream._impl.variables.variables import *

VERSION = version.VERSION
__version__ = VERSION

# The first releases' names.
merge_summary = summary.merge
merge_all_summaries = summary.merge_all

# Messages that are attributes of the package; they are made when first used.
AttrValue: _typing.Any
ConfigProto: _typing.Any
Event: _typing.Any
GPUOptions: _typing.Any
GraphDef: _typing.Any
GraphOptions: _typing.Any
HistogramProto: _typing.Any
LogMessage: _typing.Any
MetaGraphDef: _typing.Any
NameAttrList: _typing.Any
NodeDef: _typing.Any
OptimizerOptions: _typing.Any
RunMetadata: _typing.Any
RunOptions: _typing.Any
SessionLog: _typing.Any
Summary: _typing.Any
SummaryMetadata: _typing.Any
TensorInfo: _typing.Any

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, __annotations__)
    __dir__ = _module_dir(__name__, __annotations__)
