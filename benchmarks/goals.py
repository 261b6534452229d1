"""What Millstream must reach beside its peers, figure by figure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

OURS = "millstream"
BEST = "the best peer"


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Ours is to be at most ``limit`` times that of ``peer``."""

    limit: float
    peer: str = BEST

    def __str__(self) -> str:
        return f"≤ {self.limit:.3g} of {self.peer}"


@dataclasses.dataclass(frozen=True)
class Absolute:
    """Ours is to be at most ``limit``, in the figure's unit."""

    limit: float
    text: str

    def __str__(self) -> str:
        return f"≤ {self.text}"


@dataclasses.dataclass(frozen=True)
class MeanOf:
    """Ours is to be at most ``limit`` times the mean of other figures of ours."""

    limit: float
    figures: tuple[str, ...]

    def __str__(self) -> str:
        return f"≤ {self.limit:.3g} of the mean of {' and '.join(self.figures)}"


Goal = Ratio | Absolute | MeanOf

_NO_COPY = Absolute(1e-4, "0.1 ms")

GOALS: Mapping[str, tuple[Goal, ...]] = {
    "null_chain": (Ratio(1 / 3),),
    "null_wide": (Ratio(1 / 3),),
    "add_chain": (Ratio(1 / 5, "tensorflow"),),
    "add_chain_optimized": (Ratio(1.2, "jax"),),
    "tiny_run": (Ratio(0.1, "tensorflow"),),
    "tiny_callable": (Ratio(0.04, "tensorflow"), Ratio(1.4, "torch")),
    "null_callable": (Ratio(0.12, "tensorflow"),),
    "build": (Ratio(1 / 15),),
    "feed_100MB": (_NO_COPY,),
    "feed_100MB_aligned_64": (_NO_COPY,),
    "feed_100MB_aligned_4_read_only": (_NO_COPY,),
    # TensorFlow's has no second pass over the data.
    "fill_fetch_100MB": (Ratio(1.0),),
    "mlp_b1": (Ratio(0.65),),
    "mlp_b32": (Ratio(0.65),),
    "mlp_b128": (Ratio(0.75),),
    "two_shapes_in_turn": (MeanOf(1.1, ("two_shapes_32", "two_shapes_48")),),
    "lenet_b128": (Ratio(0.95),),
    "first_step": (Ratio(1.0),),
    "alexnet_b16": (Ratio(0.95),),
    "overfeat_b8": (Ratio(0.95),),
    "vgg_a_b4": (Ratio(0.95),),
    "googlenet_b8": (Ratio(0.95),),
    "resnet50_b8": (Ratio(0.9),),
    "batch_norm_relu": (Ratio(0.5),),
    "xent": (Ratio(0.5),),
    "adam": (Ratio(1.05),),
    "save_400MB": (Ratio(0.8, "tensorflow"),),
    "restore_400MB": (Ratio(0.8, "tensorflow"),),
    "threads": (Ratio(0.25),),
    "while_scalars": (Absolute(6e-8, "60 ns"), Ratio(1.5, "jax")),
    "while_scalars_gradient": (Ratio(0.15, "tensorflow"),),
    "map_fn": (Ratio(0.2, "tensorflow"), Ratio(1.2, "jax")),
    "scan": (Ratio(0.2, "tensorflow"), Ratio(1.2, "jax")),
    "lstm_b1": (Ratio(0.5),),
    "lstm_b1_unrolled": (Ratio(0.5),),
    "lstm_b64": (Ratio(0.95),),
    "lstm_b64_unrolled": (Ratio(0.95),),
    "ptb_small": (Ratio(0.75),),
    "import": (Absolute(0.06, "0.06 s"),),
    "resident_import_mb": (Absolute(45, "45 MB"),),
    "resident_first_matmul_mb": (Absolute(90, "90 MB"),),
    "installed_mb": (Absolute(80, "80 MB"),),
}
