"""TensorBoard shows what `millstream.summary` writes: the pages, as a browser draws them.

Screenshots of all pages are left in the test's folder of outputs.
"""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf
from testing.tensorboard.chromium import Chromium
from testing.tensorboard.server import TensorBoard

STEPS = 20
# Gray values of a picture, with a gradient and a bright corner so that none looks like another.
PICTURE = np.arange(8 * 12, dtype=np.uint8).reshape(1, 8, 12, 1) * 2
PICTURE[0, 0, -1, 0] = 255


def write_run(folder: pathlib.Path) -> None:
    """A small training with all kinds of summary."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="input")
        with tf.name_scope("train"):
            tf.summary.scalar("loss", tf.reduce_mean(tf.square(x)))
        tf.summary.histogram("activations", x)
        tf.summary.image("picture", tf.constant(PICTURE), max_outputs=1)
        merged = tf.summary.merge_all()
        with tf.summary.FileWriter(folder, session.graph) as writer:
            for step in range(STEPS):
                values = np.linspace(-1, 1, 100) * (STEPS - step)
                writer.add_summary(session.run(merged, {x: values}), step)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    folder = tmp_path_factory.mktemp("run")
    write_run(folder)
    with TensorBoard(folder) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(height=1800) as started:  # so high that all cards are drawn
        yield started


class Page:
    """A page of TensorBoard in the browser."""

    def __init__(self, browser: Chromium, server: TensorBoard, name: str) -> None:
        self._browser = browser
        self._name = name
        browser.open(f"{server.address}#{name}")

    def wait_for(self, expression: str) -> object:
        """The value of an expression as soon as it is true; leaves a screenshot in any case."""
        folder = pathlib.Path(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "."))
        try:
            return self._browser.wait_for(expression)
        finally:
            self._browser.screenshot(folder / f"{self._name}.png")

    def wait_for_text(self, text: str) -> None:
        """Return when an element shows exactly this text."""
        self.wait_for(
            f"""allElements().some(element =>
                element.getClientRects().length > 0 && [...element.childNodes].some(node =>
                    node.nodeType === Node.TEXT_NODE && node.nodeValue.trim() === {text!r}))"""
        )


def test_scalars_page_draws_the_curve(browser: Chromium, server: TensorBoard) -> None:
    page = Page(browser, server, "scalars")
    page.wait_for_text("train/loss")
    # A line of SVG has a point for each step, and falls to the right: y grows downwards.
    points = page.wait_for(
        f"""(() => {{
          const curves = allElements().filter(element =>
              element.matches('tf-scalar-card path.line, path.line'));
          const points = curves.map(curve => (curve.getAttribute('d') || '')
              .split(/[ML]/).filter(Boolean).map(point => point.split(',').map(Number)));
          return points.find(curve => curve.length === {STEPS});
        }})()"""
    )
    assert isinstance(points, list)
    xs, ys = zip(*points, strict=True)
    assert all(a < b for a, b in itertools.pairwise(xs))
    assert all(a < b for a, b in itertools.pairwise(ys))


def test_histograms_page_draws_a_slice_a_step(browser: Chromium, server: TensorBoard) -> None:
    page = Page(browser, server, "histograms")
    page.wait_for_text("activations")
    assert page.wait_for(
        f"""(() => {{
          const outlines = allElements().filter(element => element.matches('.histogram .outline'))
              .map(outline => outline.getAttribute('d') || '');
          const drawn = outlines.filter(path => path.split('L').length > 10);
          return drawn.length === {STEPS} && new Set(drawn).size === {STEPS};
        }})()"""
    )


def test_images_page_shows_the_pixels(browser: Chromium, server: TensorBoard) -> None:
    page = Page(browser, server, "images")
    page.wait_for_text("picture/image")
    pixels = page.wait_for(
        """(() => {
          const image = allElements().find(element =>
              element.tagName === 'IMG' && element.src.includes('plugin/images'));
          if (!image || !image.complete || !image.naturalWidth) return null;
          const canvas = document.createElement('canvas');
          canvas.width = image.naturalWidth;
          canvas.height = image.naturalHeight;
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          const data = context.getImageData(0, 0, canvas.width, canvas.height);
          return {width: data.width, height: data.height, bytes: Array.from(data.data)};
        })()"""
    )
    assert isinstance(pixels, dict)
    assert (pixels["height"], pixels["width"]) == PICTURE.shape[1:3]
    shown = np.array(pixels["bytes"]).reshape(*PICTURE.shape[1:3], 4)
    for channel in range(3):
        np.testing.assert_array_equal(shown[:, :, channel], PICTURE[0, :, :, 0])


def test_graphs_page_shows_nodes_and_edges(browser: Chromium, server: TensorBoard) -> None:
    page = Page(browser, server, "graphs")
    for name in ["train", "input"]:
        page.wait_for_text(name)
    nodes = page.wait_for(
        """allElements().filter(element => element.matches('g.node'))
            .map(node => node.getAttribute('data-name'))"""
    )
    assert isinstance(nodes, list)
    assert {"train", "input"} <= set(nodes)
    edge = page.wait_for(
        """allElements().filter(element => element.matches('g.edge'))
            .map(edge => edge.getAttribute('data-edge'))"""
    )
    assert edge == ["input--train"]


def test_time_series_page_has_a_card_for_each_summary(
    browser: Chromium, server: TensorBoard
) -> None:
    page = Page(browser, server, "timeseries")
    # Only the first two groups are open from the start.
    assert page.wait_for(
        """(() => {
          const header = [...document.querySelectorAll('metrics-card-group-toolbar')].find(
              header => header.innerText.trim().startsWith('train'));
          if (header) header.querySelector('button').click();
          return header;
        })() !== undefined"""
    )
    page.wait_for(
        """['scalar-card', 'histogram-card', 'image-card'].every(
            card => document.querySelector(card))"""
    )
    page.wait_for("document.querySelector('image-card img').naturalWidth === 12")
    # The card draws in a canvas; beside it stand the last step and its value.
    page.wait_for(
        """document.querySelector('scalar-card').innerText.split(/\\s+/).includes('0.3401')"""
    )
