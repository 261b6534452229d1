"""The networks by name, with what they are fed, and freezing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from testing.architectures import detector, image_networks, text_networks
from testing.architectures.network_parts import Parts


class Network(NamedTuple):
    """A network: what builds it, and its inputs.

    Parameters
    ----------
    build
        A function of `Parts` and one placeholder for each input; gives outputs.
    inputs
        A function that makes the values of the inputs.
    """

    build: Callable[..., Any]
    inputs: Callable[[], list[Any]]


def _images(count: int, size: int) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        random = np.random.RandomState(11)
        return [random.rand(count, size, size, 3).astype(np.float32) * 2 - 1]

    return make


def _texts() -> list[Any]:
    random = np.random.RandomState(12)
    words = random.randint(0, text_networks.WORDS, (3, text_networks.LENGTH)).astype(np.int32)
    ends = np.array([[text_networks.LENGTH], [17], [1]])
    return [words, (np.arange(text_networks.LENGTH) < ends).astype(np.int32)]


def _people() -> list[Any]:
    random = np.random.RandomState(13)
    countries = ["de", "in", "nowhere", "us", "", "ke"]
    words = ["graph", "engine", "Gr\u00fc\u00dfe", "graph", "", "stream"]
    return [
        np.array([one.encode() for one in countries], object),
        np.array([one.encode() for one in words], object),
        random.rand(len(countries), 5).astype(np.float32),
    ]


NETWORKS = {
    "resnet50": Network(image_networks.resnet50, _images(2, 96)),
    "mobilenet": Network(image_networks.mobilenet, _images(2, 96)),
    "inception_v3": Network(image_networks.inception_v3, _images(1, 139)),
    "detector": Network(detector.detector, _images(1, 160)),
    "encoder": Network(text_networks.encoder, _texts),
    "wide_and_deep": Network(text_networks.wide_and_deep, _people),
}

INITIALIZER = "initialize_tables"


def output_name(number: int) -> str:
    """The name of an output's operation."""
    return f"output_{number}"


class Built(NamedTuple):
    """A network in a graph: its outputs by running it, and the graph with constants."""

    outputs: list[Any]
    frozen: Any


def build_and_freeze(tf: Any, name: str) -> Built:
    """Build a network with an API, run it, and make its variables constants.

    Parameters
    ----------
    tf
        Millstream or ``tensorflow.compat.v1``.
    name
        One of `NETWORKS`.
    """
    network = NETWORKS[name]
    values = network.inputs()
    with tf.Graph().as_default():
        feeds = [
            tf.placeholder(
                tf.string if value.dtype == object else tf.as_dtype(value.dtype),
                (None if name in {"encoder", "wide_and_deep"} else len(value), *value.shape[1:]),
                name=f"input_{number}",
            )
            for number, value in enumerate(values)
        ]
        found = network.build(Parts(tf), *feeds)
        outputs = [
            tf.identity(one, name=output_name(number))
            for number, one in enumerate(found if isinstance(found, tuple) else (found,))
        ]
        with tf.control_dependencies([tf.tables_initializer()]):
            tf.no_op(name=INITIALIZER)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            results = session.run(outputs, dict(zip(feeds, values, strict=True)))
            frozen = tf.graph_util.convert_variables_to_constants(
                session,
                tf.get_default_graph().as_graph_def(),
                [*map(output_name, range(len(outputs))), INITIALIZER],
            )
    return Built(results, frozen)


def run_frozen(tf: Any, graph_def: Any, name: str) -> list[Any]:
    """Import a frozen network and run it.

    Parameters
    ----------
    tf, name
        As for `build_and_freeze`.
    graph_def
        The graph.
    """
    values = NETWORKS[name].inputs()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        names = [operation.name for operation in graph.get_operations()]
        count = sum(one.startswith("output_") for one in names)
        with tf.Session() as session:
            session.run(graph.get_operation_by_name(INITIALIZER))
            fetches = [output_name(number) + ":0" for number in range(count)]
            feeds = {f"input_{number}:0": value for number, value in enumerate(values)}
            results: list[Any] = session.run(fetches, feeds)
            return results
