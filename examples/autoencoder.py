"""Learn to draw clothes from 32 numbers each: an autoencoder of Fashion-MNIST.

The network is that of G. Hinton and R. Salakhutdinov, "Reducing the Dimensionality of Data with
Neural Networks" (2006), with Relu and trained as a whole: an encoder makes 32 numbers of an
image, a decoder makes the image of the numbers. The error on images that were not trained on is
compared with that of the mean image, and with that of the first 32 principal components, which is
the least error of all linear functions to and from 32 numbers.
"""

from __future__ import annotations

import pathlib
import tempfile

import numpy as np
import numpy.typing as npt

import millstream as tf
from examples import fashion_images
from examples.command_line import progress_bar, training_parser, user_path
from examples.pictures import PictureWriter, grid

STEPS = 12_000
SHORT_STEPS = 1_500
BATCH = 128
CODE = 32
LAYERS = (512, 128)
SHOWN = 12
PICTURES = 10  # in a training


class Model:
    """Images, the images that are drawn of their codes, and the training step."""

    def __init__(self) -> None:
        self.images = tf.placeholder(tf.float32, [None, 784], name="images")
        value = self.images
        for units in LAYERS:
            value = tf.layers.dense(value, units, activation=tf.nn.relu)
        self.code = tf.layers.dense(value, CODE, name="code")
        value = self.code
        for units in reversed(LAYERS):
            value = tf.layers.dense(value, units, activation=tf.nn.relu)
        self.drawn = tf.layers.dense(value, 784, activation=tf.nn.sigmoid, name="drawn")
        self.loss = tf.losses.mean_squared_error(self.images, self.drawn)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(2e-3, step, 3000, 0.5)
        self.train = tf.train.AdamOptimizer(rate).minimize(self.loss, global_step=step)


def linear_errors(
    train: npt.NDArray[np.float32], test: npt.NDArray[np.float32]
) -> tuple[float, float]:
    """Return the mean squared errors of the mean image and of the principal components."""
    mean = train.mean(axis=0)
    centered = train - mean
    _, vectors = np.linalg.eigh(centered.T @ centered)  # eigenvalues ascend
    components = vectors[:, -CODE:]
    rest = test - mean
    projected = rest @ components @ components.T
    return float(np.square(rest).mean()), float(np.square(rest - projected).mean())


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Train, report and return the errors."""
    parser = training_parser(__doc__, "of variables and order of images")
    parser.add_argument("--logdir", type=user_path, help="where events and pictures go")
    args = parser.parse_args(arguments)
    steps = args.steps or (SHORT_STEPS if args.short else STEPS)
    folder = args.logdir or pathlib.Path(tempfile.gettempdir()) / "millstream_autoencoder"
    folder.mkdir(parents=True, exist_ok=True)
    data, test = fashion_images.load()
    tf.set_random_seed(args.seed)
    model = Model()
    pictures = PictureWriter(folder, "reconstructions")
    shown = test.pixels[:SHOWN]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        step = session.make_callable([model.train, model.loss], feed_list=[model.images])
        with progress_bar(steps) as bar:
            for number in range(steps):
                _, loss = step(data.batch(number, BATCH, args.seed)[0])
                bar.update()
                if number % max(1, steps // PICTURES) == 0 or number == steps - 1:
                    bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
                    drawn = session.run(model.drawn, {model.images: shown})
                    pictures.add(session, grid(np.concatenate([shown, drawn]), SHOWN), number)
        error = float(session.run(model.loss, {model.images: test.pixels}))
    mean, linear = linear_errors(data.pixels, test.pixels)
    errors = {"autoencoder": error, "principal components": linear, "mean image": mean}
    print(f"mean squared error of a pixel, {CODE} numbers an image, {steps} steps:")
    print(", ".join(f"{name} {value:.4f}" for name, value in errors.items()))
    print(f"images and their reconstructions: {pictures.path}, tensorboard --logdir {folder}")
    return errors


if __name__ == "__main__":
    main()
