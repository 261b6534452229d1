"""The training of a classifier of images, and its test."""

from __future__ import annotations

import pathlib
from typing import Any

import millstream as tf
from examples import fashion_images
from examples.command_line import progress_bar

SUMMARY_EVERY = 20
TEST_BATCH = 1000


def accuracy(session: Any, model: Any, test: fashion_images.Images) -> float:
    """Return the part of the test images that the model classifies rightly."""
    hits = 0.0
    for begin in range(0, len(test.pixels), TEST_BATCH):
        rows = slice(begin, begin + TEST_BATCH)
        feed = {model.images: test.pixels[rows], model.classes: test.classes[rows]}
        hits += float(session.run(model.hits, feed))
    return hits / len(test.pixels)


def train(
    session: Any,
    model: Any,
    data: fashion_images.Images,
    steps: range,
    batch: int,
    seed: int,
    folder: pathlib.Path,
) -> None:
    """Run steps, with a progress bar and curves in event files.

    Parameters
    ----------
    session
        The session.
    model
        Has the placeholders ``images`` and ``classes``, and ``train``, ``loss`` and ``summary``.
    data
        What it learns.
    steps
        The numbers of the steps to do.
    batch
        How many images a step takes.
    seed
        Of the order of the images.
    folder
        Where the event files go.
    """
    feeds = [model.images, model.classes]
    step = session.make_callable([model.train, model.loss], feed_list=feeds)
    step_with_summary = session.make_callable(
        [model.train, model.loss, model.summary], feed_list=feeds
    )
    writer = tf.summary.FileWriter(str(folder), session.graph)
    with progress_bar(steps.stop, steps.start) as bar:
        for number in steps:
            pixels, classes = data.batch(number, batch, seed)
            if number % SUMMARY_EVERY == 0:
                _, loss, summary = step_with_summary(pixels, classes)
                writer.add_summary(summary, number)
                bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            else:
                step(pixels, classes)
            bar.update()
    writer.close()
