"""How copies of a variable on several devices are kept; there is one copy of each so far."""

from __future__ import annotations

from enum import Enum

from millstream._impl.base.public import public


@public("VariableSynchronization")
class VariableSynchronization(Enum):
    """When copies of a variable are made equal.

    Examples
    --------
    >>> tf.Variable(1.0).synchronization.name
    'AUTO'
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@public("VariableAggregation")
class VariableAggregation(Enum):
    """How several updates of copies of a variable are combined.

    Examples
    --------
    >>> tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN).aggregation.name
    'MEAN'
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA  # its first name
