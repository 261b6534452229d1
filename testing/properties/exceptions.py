"""Ops for which a property does not hold, each with the reason."""

from __future__ import annotations

# The values of inputs decide the shape, so that it cannot be known before the step.
DATA_DECIDES_SHAPE = {
    "DynamicPartition": "rows are counted in the step",
    "DynamicStitch": "graph programs see an unknown number of rows where nothing is stitched",
    "Merge": "the input that comes first decides",
    "PlaceholderWithDefault": "a step may feed anything of the shape that the attribute allows",
    "Unique": "elements are counted in the step",
}

OWN_BITS = {
    "Merge": "gives whichever input comes first",
}

NAMES_NO_ARGUMENT = {
    "Assert": "the error shows the data, in words that programs know",
    "Enter": "the error is about the loop",
    "Exit": "the error is about the loop",
    "HistogramSummary": "the error is in words that programs know",
    "NextIteration": "the error is about the loop",
    "RefEnter": "the error is about the loop",
    "RefExit": "the error is about the loop",
    "RefSwitch": "the error is about the fetch of an output that was not taken",
    "Switch": "the error is about the fetch of an output that was not taken",
    "_HostRecv": "the error is about the node itself",
    "_HostSend": "the error is about the node itself",
    "_Recv": "the error is about the node itself",
    "_Send": "the error is about the node itself",
}

# With inputs of unknown shapes it gives a shape that its shape function refuses.
UNCHECKED_SHAPE = {
    "LoopCond": "passes on what the Switches that read it check",
}

_LOOPS = "gives nothing on its own: control flow is tested in core/dynamic and python/millstream"
_MADE_HERE = "made by a pass, whose test compares every bit with the nodes that it replaces"
_QUEUE = "works between steps: core/structural/queues_test.cc compares what comes out of a queue"
_MESSAGE = "gives a message: python/millstream/_impl/summary compares what is in it"

# Run with arbitrary cases, but compared with nothing.
NO_REFERENCE = {
    "DestroyResourceOp": "leaves nothing to compare: state_test.py reads after it",
    "Enter": _LOOPS,
    "Exit": _LOOPS,
    "FIFOQueueV2": _QUEUE,
    "HistogramSummary": _MESSAGE,
    "ImageSummary": _MESSAGE,
    "Merge": _LOOPS,
    "MergeSummary": _MESSAGE,
    "NextIteration": _LOOPS,
    "Placeholder": "feeds every other case",
    "QueueCloseV2": _QUEUE,
    "QueueDequeueManyV2": _QUEUE,
    "QueueDequeueV2": _QUEUE,
    "QueueEnqueueManyV2": _QUEUE,
    "QueueEnqueueV2": _QUEUE,
    "QueueIsClosedV2": _QUEUE,
    "QueueSizeV2": _QUEUE,
    "RefEnter": _LOOPS,
    "RefExit": _LOOPS,
    "RefMerge": _LOOPS,
    "RefSwitch": _LOOPS,
    "ScalarSummary": _MESSAGE,
    "Switch": _LOOPS,
    "TensorSummaryV2": _MESSAGE,
    "VarHandleOp": "makes the variables of other cases",
    "Variable": "has no value of its own: VariableV2 makes the variables of other cases",
    "VariableV2": "makes the variables of other cases",
    "_FusedConv2D": _MADE_HERE,
    "_FusedElementwise": _MADE_HERE,
    "_FusedMatMul": _MADE_HERE,
    "_HostRecv": "waits for another part of its step",
    "_HostSend": "waits for another part of its step",
    "_MatMulApplyGradientDescent": _MADE_HERE,
    "_MultiResourceApplyAdagrad": _MADE_HERE,
    "_MultiResourceApplyAdam": _MADE_HERE,
    "_MultiResourceApplyGradientDescent": _MADE_HERE,
    "_MultiResourceApplyMomentum": _MADE_HERE,
    "_Recv": "waits for another part of its step",
    "_ReluGradBiasAddGrad": _MADE_HERE,
    "_Send": "waits for another part of its step",
}
