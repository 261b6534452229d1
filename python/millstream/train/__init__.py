"""Training: optimizers, learning rates and the step counter."""

import typing as _typing

from millstream._impl.graph.graph_io import write_graph
from millstream._impl.names.missing_names import module_dir as _module_dir
from millstream._impl.names.missing_names import module_getattr as _module_getattr
from millstream._impl.summary.event_writer import FileWriter as SummaryWriter
from millstream._impl.summary.event_writer import FileWriterCache as SummaryWriterCache
from millstream._impl.summary.event_writer import summary_iterator
from millstream._impl.train.adagrad import AdagradOptimizer
from millstream._impl.train.adam import AdamOptimizer
from millstream._impl.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from millstream._impl.train.gradient_descent import GradientDescentOptimizer
from millstream._impl.train.learning_rates import (
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    piecewise_constant_decay,
)
from millstream._impl.train.momentum import MomentumOptimizer
from millstream._impl.train.optimizer import Optimizer

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "SummaryWriter",
    "SummaryWriterCache",
    "assert_global_step",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "summary_iterator",
    "write_graph",
]

# Messages that belong to training; they are made when first used.
BytesList: _typing.Any
ClusterDef: _typing.Any
Example: _typing.Any
Feature: _typing.Any
FeatureList: _typing.Any
FeatureLists: _typing.Any
Features: _typing.Any
FloatList: _typing.Any
Int64List: _typing.Any
JobDef: _typing.Any
SaverDef: _typing.Any
SequenceExample: _typing.Any
ServerDef: _typing.Any

if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, __annotations__)
    __dir__ = _module_dir(__name__, __annotations__)
