"""Training: optimizers and the step counter."""

from millstream.graph_io import write_graph
from millstream.summary.event_writer import FileWriter as SummaryWriter
from millstream.train.adagrad import AdagradOptimizer
from millstream.train.adam import AdamOptimizer
from millstream.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from millstream.train.gradient_descent import GradientDescentOptimizer
from millstream.train.momentum import MomentumOptimizer
from millstream.train.optimizer import Optimizer

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "SummaryWriter",
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "write_graph",
]
