"""A pole that a cart balances: the simulator of the example ``dqn``, in NumPy.

The equations and constants, friction included, are those of the appendix of A. Barto, R. Sutton and
C. Anderson, "Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems"
(IEEE Transactions on Systems, Man, and Cybernetics 13, 1983), integrated by Euler's method.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GRAVITY = 9.8  # m/s^2
CART_MASS = 1.0  # kg
POLE_MASS = 0.1  # kg
HALF_LENGTH = 0.5  # of the pole, m
CART_FRICTION = 0.0005  # of the cart on the track
POLE_FRICTION = 0.000002  # of the pole on the cart
FORCE = 10.0  # N, to the left or to the right
INTERVAL = 0.02  # s
TRACK_END = 2.4  # m from the middle
LARGEST_ANGLE = float(np.radians(12.0))

ACTIONS = 2  # push to the left, push to the right
MEASURES = 4  # position, speed, angle, angular speed

Floats = npt.NDArray[np.float64]


def accelerations(states: Floats, force: Floats) -> tuple[Floats, Floats]:
    """Return the cart's acceleration and the pole's angular acceleration, one a row of states."""
    _, speed, angle, spin = states.T
    mass = CART_MASS + POLE_MASS
    sine, cosine = np.sin(angle), np.cos(angle)
    push = force + POLE_MASS * HALF_LENGTH * spin**2 * sine - CART_FRICTION * np.sign(speed)
    moment = (
        GRAVITY * sine - cosine * push / mass - POLE_FRICTION * spin / (POLE_MASS * HALF_LENGTH)
    )
    turn = moment / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine**2 / mass))
    return (push - POLE_MASS * HALF_LENGTH * turn * cosine) / mass, turn


def advance(states: Floats, actions: npt.NDArray[np.int64]) -> Floats:
    """Return the states after one interval in which each cart is pushed as its action says."""
    cart, turn = accelerations(states, np.where(actions == 1, FORCE, -FORCE))
    rates = np.stack([states[:, 1], cart, states[:, 3], turn], axis=1)
    return states + INTERVAL * rates


def fallen(states: Floats) -> npt.NDArray[np.bool_]:
    """Return which carts left the track or let their pole fall."""
    limits = np.array([TRACK_END, np.inf, LARGEST_ANGLE, np.inf])
    return np.asarray((np.abs(states) > limits).any(axis=1))


def start(count: int, random: np.random.RandomState) -> Floats:
    """Return states near balance."""
    return random.uniform(-0.05, 0.05, (count, MEASURES))
