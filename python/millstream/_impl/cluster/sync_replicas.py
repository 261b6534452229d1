"""Synchronous training by several replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FLAG, INTEGER, LIST, TEXT, Kind, or_none, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.monitored.hook import SessionRunHook
from millstream._impl.ops import array_creation, control_ops
from millstream._impl.ops.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    GradientCounts,
    SparseConditionalAccumulator,
)
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.queue_kinds import FIFOQueue
from millstream._impl.train.optimizer import Optimizer
from millstream._impl.train.queue_runner import QueueRunner
from millstream._impl.variables import variable_ops
from millstream._impl.variables.variables import Variable

if TYPE_CHECKING:
    from millstream._impl.session.base_session import BaseSession
    from millstream._impl.train.coordinator import Coordinator

_OPTIMIZER = Kind("a tf.train.Optimizer", lambda value: isinstance(value, Optimizer))
_AVERAGES = Kind("a tf.train.ExponentialMovingAverage", lambda value: hasattr(value, "apply"))


@public("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Applies the mean of the gradients of several replicas at once.

    Accumulators beside the variables collect gradients. When each has those of
    `replicas_to_aggregate` replicas, the chief's queue runner applies their means and increases the
    global step, and gives each replica a token with it. A replica's training step ends when it has
    a token. Gradients that were computed for an earlier step are dropped, so that the slowest
    replicas of more than `replicas_to_aggregate` hold up nobody. `gradient_counts`, which 1.15 has
    not, says how many were.

    Parameters
    ----------
    opt
        The optimizer that applies the means.
    replicas_to_aggregate
        How many gradients a mean is of.
    total_num_replicas
        How many replicas there are, by default as many.
    variable_averages
        A `tf.train.ExponentialMovingAverage` that the chief applies after each step.
    variables_to_average
        Its variables.
    use_locking
        Kept for programs; updates of a variable never overlap.
    name
        Name of the optimizer.

    Raises
    ------
    TypeError
        An argument is of another type.

    Examples
    --------
    >>> w = tf.Variable([1.0, 2.0], name="w")
    >>> opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2)
    >>> step = tf.train.get_or_create_global_step()
    >>> train = opt.minimize(tf.reduce_sum(w * w), global_step=step)
    >>> hook = opt.make_session_run_hook(is_chief=True)
    """

    @takes(
        opt=_OPTIMIZER,
        replicas_to_aggregate=INTEGER,
        total_num_replicas=or_none(INTEGER),
        variable_averages=or_none(_AVERAGES),
        variables_to_average=or_none(LIST),
        use_locking=FLAG,
        name=TEXT,
    )
    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Sequence[Variable] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._to_aggregate = replicas_to_aggregate
        self._total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._tokens_per_step = max(self._total, replicas_to_aggregate)
        self._averages = variable_averages
        self._averaged = variables_to_average
        self._global_step: Any = None
        self._tokens: Any = None
        self._runner: QueueRunner | None = None
        self._accumulators: dict[str, tuple[ConditionalAccumulatorBase, str]] = {}
        self.local_step_init_op: Tensor | None = None
        self.chief_init_op: Operation | None = None
        self.ready_for_local_init_op: Tensor | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients, as the optimizer that applies the means gives them."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """An operation that gives a replica's gradients to the accumulators, and waits for a token.

        Parameters
        ----------
        grads_and_vars
            (gradient, variable) of each, as `compute_gradients` gives them.
        global_step
            The variable that counts steps; required.
        name
            Name of the operation, by default the optimizer's.

        Raises
        ------
        ValueError
            There is no gradient or no global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        # A variable of the replica's own: on a parameter server, where a device setter puts
        # variables, all replicas would share it, and no gradient would be stale.
        with scopes.colocate_with(control_ops.no_op()):
            local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = variable_ops.assign(local_step, global_step)
        self.ready_for_local_init_op = variable_ops.report_uninitialized_variables(
            global_step.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        )
        with scopes.name_scope(None, self._name):
            given, means, accumulators = self._accumulate(pairs, local_step)
            with scopes.device(global_step.device), scopes.name_scope(""):
                self._tokens = FIFOQueue(
                    -1,
                    global_step.dtype.base_dtype,
                    shapes=[[]],
                    name="sync_token_q",
                    shared_name="sync_token_q",
                )
            with scopes.device(global_step.device):
                with scopes.control_dependencies(given):
                    token = self._tokens.dequeue()
                train = variable_ops.assign(local_step, token)
            self._make_runner(means)
            self._accumulators = accumulators
            starts: list[Any] = [self.local_step_init_op]
            for accumulator, device in accumulators.values():
                with scopes.device(device):
                    starts.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = control_ops.group(*starts)
            return control_ops.group(train, name=name)

    def _accumulate(
        self, pairs: list[Any], local_step: Variable
    ) -> tuple[list[Any], list[Any], dict[str, tuple[ConditionalAccumulatorBase, str]]]:
        """What gives gradients to accumulators, the means, and the accumulators by variable."""
        given: list[Any] = []
        means: list[Any] = []
        accumulators: dict[str, tuple[ConditionalAccumulatorBase, str]] = {}
        for gradient, variable in pairs:
            with scopes.device(variable.device):
                if gradient is None:
                    means.append((None, variable))
                    continue
                kind: Any = ConditionalAccumulator
                if isinstance(gradient, IndexedSlices):
                    kind = SparseConditionalAccumulator
                accumulator = kind(
                    gradient.dtype,
                    shape=variable.shape,
                    shared_name=variable.name + "/grad_accum",
                )
                if kind is ConditionalAccumulator:
                    given.append(accumulator.apply_grad(gradient, local_step=local_step))
                    mean = accumulator.take_grad(self._to_aggregate)
                else:
                    given.append(
                        accumulator.apply_indexed_slices_grad(gradient, local_step=local_step)
                    )
                    mean = accumulator.take_indexed_slices_grad(self._to_aggregate)
                means.append((mean, variable))
                accumulators[variable.name] = (accumulator, variable.device)
        return given, means, accumulators

    def _make_runner(self, means: list[Any]) -> None:
        """Make the chief's operation: apply the means, and give tokens."""
        step = self._global_step
        update = self._opt.apply_gradients(means, step)
        with scopes.device(step.device), scopes.name_scope(""):
            # Never used: a queue runner belongs to a queue.
            dummy = FIFOQueue(
                1,
                step.dtype.base_dtype,
                shapes=[[]],
                name="dummy_queue",
                shared_name="dummy_queue",
            )
        with scopes.device(step.device), scopes.control_dependencies([update]):
            tokens = array_creation.fill([self._tokens_per_step], step.read_value())
            give = self._tokens.enqueue_many((tokens,))
        if self._averages is not None:
            with scopes.control_dependencies([give]):
                give = self._averages.apply(self._averaged)
        self._runner = QueueRunner(dummy, [give])

    def gradient_counts(self) -> dict[str, GradientCounts]:
        """How many gradients of each variable were added up, and how many stale ones dropped.

        Each call adds operations to the graph, so it belongs before a session that finalizes it.

        Returns
        -------
        dict
            ``applied`` and ``dropped``, tensors that any replica may fetch, by the variable's name.
            They count the gradients of all replicas since the accumulator began: with its session
            or, in a cluster, with the task that holds the variable.

        Raises
        ------
        ValueError
            `apply_gradients` was not called.

        Examples
        --------
        >>> w = tf.Variable(1.0, name="w")
        >>> opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        >>> train = opt.minimize(w * w, global_step=tf.train.get_or_create_global_step())
        >>> sorted(opt.gradient_counts())
        ['w:0']
        """
        if not self._accumulators:
            raise ValueError("gradient_counts() should be called after apply_gradients().")
        counts: dict[str, GradientCounts] = {}
        for variable, (accumulator, device) in self._accumulators.items():
            with scopes.device(device):
                counts[variable] = accumulator.gradient_counts()
        return counts

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner that applies the means, for the chief to run.

        Raises
        ------
        ValueError
            `apply_gradients` was not called.
        """
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """An operation that gives the first tokens, for the chief to run once.

        Parameters
        ----------
        num_tokens
            How many, by default as many as gradients are aggregated.

        Raises
        ------
        ValueError
            `apply_gradients` was not called, or they are too few for a first step.
        """
        if self._tokens is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._to_aggregate - self._total
        if num_tokens == -1:
            num_tokens = self._to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed}"
            )
        if num_tokens <= 0:
            return control_ops.no_op(name="no_init_tokens")
        with scopes.device(self._global_step.device):
            tokens = array_creation.fill([num_tokens], self._global_step.read_value())
            first: Operation = self._tokens.enqueue_many((tokens,))
            return first

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook that begins a replica's part in training.

        Parameters
        ----------
        is_chief
            Whether the replica is the chief, which applies the means.
        num_tokens
            See `get_init_tokens_op`.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the optimizer that applies the means."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The slots of the optimizer that applies the means."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """The variables of the optimizer that applies the means."""
        return self._opt.variables()


class _SyncReplicasHook(SessionRunHook):
    """Initializes a replica's step, and starts the chief's queue runner."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._first_tokens: Operation | None = None

    def begin(self) -> None:
        """Add what the chief runs to the graph."""
        if self._is_chief:
            self._first_tokens = self._optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """Initialize what belongs to the session."""
        missing = session.run(self._optimizer.ready_for_local_init_op)
        if len(missing):
            names = [name.decode() for name in missing]
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicas local_init: "
                f"Variables not initialized: {', '.join(names)}"
            )
        if not self._is_chief:
            session.run(self._optimizer.local_step_init_op)
            return
        session.run(self._optimizer.chief_init_op)
        session.run(self._first_tokens)
        runner = self._optimizer.get_chief_queue_runner()
        runner.create_threads(session, coord=coord, daemon=True, start=True)
