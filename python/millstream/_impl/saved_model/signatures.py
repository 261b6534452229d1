"""Signatures: names of the inputs and outputs that a graph has for callers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import MAPPING, TEXT, takes
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.saved_model import constants
from millstream._impl.saved_model.tensor_infos import build_tensor_info
from millstream._impl.values import dtypes


@public("saved_model.signature_def_utils.build_signature_def", "saved_model.build_signature_def")
@takes(inputs=MAPPING, outputs=MAPPING, method_name=TEXT)
def build_signature_def(
    inputs: Any = None, outputs: Any = None, method_name: str | None = None
) -> Any:
    """A signature of described tensors.

    Parameters
    ----------
    inputs, outputs
        ``TensorInfo`` messages by the names that callers use.
    method_name
        What kind of call it is, such as ``PREDICT_METHOD_NAME``.

    Returns
    -------
    SignatureDef

    Examples
    --------
    >>> info = tf.saved_model.build_tensor_info(tf.placeholder(tf.float32, [], name="x"))
    >>> tf.saved_model.build_signature_def({"x": info}, {"y": info}, "call").method_name
    'call'
    """
    made = protos.message_class("SignatureDef")()
    for given, field in ((inputs, made.inputs), (outputs, made.outputs)):
        for name, info in (given or {}).items():
            field[name].CopyFrom(info)
    if method_name is not None:
        made.method_name = method_name
    return made


def _described(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def _require(tensor: Any, dtype: Any, what: str) -> None:
    if tensor is None:
        raise ValueError(f"{what} cannot be None.")
    if not isinstance(tensor, TensorLike):
        raise TypeError(f"{what} must be a tensor, got {tensor!r}.")
    if tensor.dtype.base_dtype != dtype:
        raise ValueError(f"{what} must be of type {dtype.name}, got {tensor.dtype.name}.")


@public(
    "saved_model.signature_def_utils.predict_signature_def", "saved_model.predict_signature_def"
)
@takes(inputs=MAPPING, outputs=MAPPING)
def predict_signature_def(inputs: Any, outputs: Any) -> Any:
    """A signature of a prediction: any tensors in and out.

    Parameters
    ----------
    inputs, outputs
        Tensors by the names that callers use.

    Returns
    -------
    SignatureDef

    Raises
    ------
    ValueError
        There are none.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [])
    >>> sorted(tf.saved_model.predict_signature_def({"x": x}, {"y": x * 2.0}).outputs)
    ['y']
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(
        _described(inputs), _described(outputs), constants.PREDICT_METHOD_NAME
    )


@public(
    "saved_model.signature_def_utils.regression_signature_def",
    "saved_model.regression_signature_def",
)
def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """A signature of a regression: examples in, numbers out.

    Parameters
    ----------
    examples
        Serialized ``Example`` messages: strings.
    predictions
        float32.

    Returns
    -------
    SignatureDef

    Raises
    ------
    ValueError
        One is None, or of another type.

    Examples
    --------
    >>> examples = tf.placeholder(tf.string, [None])
    >>> predictions = tf.zeros([3])
    >>> tf.saved_model.regression_signature_def(examples, predictions).method_name
    'tensorflow/serving/regress'
    """
    _require(examples, dtypes.string, "Regression examples")
    _require(predictions, dtypes.float32, "Regression predictions")
    return build_signature_def(
        _described({constants.REGRESS_INPUTS: examples}),
        _described({constants.REGRESS_OUTPUTS: predictions}),
        constants.REGRESS_METHOD_NAME,
    )


@public(
    "saved_model.signature_def_utils.classification_signature_def",
    "saved_model.classification_signature_def",
)
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """A signature of a classification: examples in, classes or scores or both out.

    Parameters
    ----------
    examples
        Serialized ``Example`` messages: strings.
    classes
        Names of classes, strings, or None.
    scores
        float32, or None.

    Returns
    -------
    SignatureDef

    Raises
    ------
    ValueError
        The examples or both others are None, or one is of another type.

    Examples
    --------
    >>> examples = tf.placeholder(tf.string, [None])
    >>> signature = tf.saved_model.classification_signature_def(examples, None, tf.zeros([3, 2]))
    >>> sorted(signature.outputs)
    ['scores']
    """
    _require(examples, dtypes.string, "Classification examples")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        _require(classes, dtypes.string, "Classification classes")
        outputs[constants.CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        _require(scores, dtypes.float32, "Classification scores")
        outputs[constants.CLASSIFY_OUTPUT_SCORES] = scores
    return build_signature_def(
        _described({constants.CLASSIFY_INPUTS: examples}),
        _described(outputs),
        constants.CLASSIFY_METHOD_NAME,
    )


# By method: the dtypes that inputs must have, and those of outputs; {} stands for any.
_FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    constants.CLASSIFY_METHOD_NAME: (
        {constants.CLASSIFY_INPUTS: dtypes.string},
        {
            constants.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
            constants.CLASSIFY_OUTPUT_SCORES: dtypes.float32,
        },
    ),
    constants.REGRESS_METHOD_NAME: (
        {constants.REGRESS_INPUTS: dtypes.string},
        {constants.REGRESS_OUTPUTS: dtypes.float32},
    ),
    constants.PREDICT_METHOD_NAME: ({}, {}),
}


@public("saved_model.signature_def_utils.is_valid_signature", "saved_model.is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Whether a signature is a classification, a regression or a prediction.

    Parameters
    ----------
    signature_def
        The signature, or None.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [])
    >>> tf.saved_model.is_valid_signature(tf.saved_model.predict_signature_def({"x": x}, {"y": x}))
    True
    """
    if signature_def is None:
        return False
    if not hasattr(signature_def, "method_name"):
        raise TypeError(f"signature_def: expected a SignatureDef, got {signature_def!r}")
    form = _FORMS.get(signature_def.method_name)
    if form is None or not signature_def.inputs or not signature_def.outputs:
        return False
    inputs, outputs = form
    if inputs and set(signature_def.inputs) != set(inputs):
        return False
    if outputs and not set(signature_def.outputs) <= set(outputs):
        return False
    return all(
        signature_def_part[name].dtype == kinds[name].as_datatype_enum
        for signature_def_part, kinds in (
            (signature_def.inputs, inputs),
            (signature_def.outputs, outputs),
        )
        for name in (signature_def_part if kinds else ())
    )
