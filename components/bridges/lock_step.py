"""LockStep: a client decides when the world steps, until it lets go or is silent for too long."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mjrig.components.bridges.clients import Client
from mjrig.components.bridges.protocol import RequestError
from mjrig.core.findings import Finding, note

#: Time that a long `step` may take before other requests are answered [s].
SLICE_S = 0.01
#: Requests that may wait for the client's running `step`.
MAX_WAITING = 64


class OnLockTimeout(StrEnum):
    """What the world does when a client in lock step is silent for too long."""

    RUN = "run"
    PAUSE = "pause"


@dataclass
class StepJob:
    """A running `step` request."""

    client: Client
    total: int
    #: Sends the reply, with the reason why the step ended early or None.
    finish: Callable[[RequestError | None], None] = field(default=lambda _: None)
    done: int = 0
    is_cancelled: bool = False
    #: Later requests of the same client: replies are sent in order.
    waiting: deque[Callable[[], None]] = field(default_factory=deque)

    def queue(self, answer: Callable[[], None], *, cancel: bool) -> None:
        """Answer a later request after this one.

        Args:
            cancel: it ends this one.

        Raises:
            RequestError: too many wait.
        """
        if len(self.waiting) >= MAX_WAITING:
            raise RequestError("too-many-requests", here=MAX_WAITING)
        self.waiting.append(answer)
        self.is_cancelled = self.is_cancelled or cancel

    def advance(self, step: Callable[[int], int]) -> bool:
        """Take steps for at most `SLICE_S`; True: all of them are done."""
        end = time.perf_counter() + SLICE_S
        while self.done < self.total:
            if not step(1):  # the world takes no more steps
                return True
            self.done += 1
            if time.perf_counter() > end:
                break
        return self.done >= self.total


class LockStep:
    """Which client of a bridge has the clock of the world.

    A world has one clock, whichever bridge a client talks to.

    Args:
        label: of the bridge, for messages.
        peers: the LockSteps of all bridges of the world.
        notify: reports an event.
    """

    def __init__(
        self,
        label: str,
        peers: Callable[[], Iterable["LockStep"]],
        notify: Callable[[Finding], None],
    ) -> None:
        self._label, self._peers, self._notify = label, peers, notify
        self.is_on = False
        self.holder: Client | None = None
        self.job: StepJob | None = None
        self._cancelled: StepJob | None = None
        self._is_loss_reported = False

    @property
    def current(self) -> "LockStep | None":
        """The one in the world whose client has the clock."""
        if self.is_on:
            return self
        return next((peer for peer in self._peers() if peer.is_on), None)

    @property
    def rightful(self) -> Client | None:
        """The connected client that has the clock."""
        holder = self.holder
        return holder if self.is_on and holder is not None and holder.is_connected else None

    def claim(self, client: Client, op: str, *, take: bool) -> None:
        """Make sure that a client may stop, step or run the world.

        Raises:
            RequestError: another client has the clock; the text names it.
        """
        if not client.is_connected:
            raise RequestError("client-left", subject=op, here=client.name)
        current = self.current
        rival = None if current is None else current.rightful
        if rival is None and op != "run":  # which leaves the clock to nobody
            client.check_replaced(op, take=take)
        if current is None:
            return
        if rival is not None and rival is not client:
            if not take:
                bridge = "" if current is self else current._label
                values = {"here": rival.name, "bridge": bridge, "client": client.name}
                raise RequestError("not-the-clock", subject=op, **values)
            rival.replaced_by, client.replaced_by = client, None
            self._notify(note("other-clock", "", here=client.name, before=rival.name))
        job = current.job
        if job is not None:
            current.holder = client  # steps of the other one that wait must not begin now
            current.finish_job(_ended(job, "step-ended by", client=client.name))
        if current is not self:
            current.end()

    def begin(self, client: Client) -> None:
        """The world steps only when this client asks."""
        self.is_on, self.holder, self._is_loss_reported = True, client, False

    def end(self) -> None:
        """The world runs in real time."""
        self.is_on, self.holder = False, None

    # A long step --------------------------------------------------------------------------------

    def proceed(self, step: Callable[[int], int]) -> None:
        """Take a slice of the running `step`, if there is one."""
        job = self.job
        if job is None:
            return
        problem: RequestError | None = None
        try:
            if job.is_cancelled:
                problem = _ended(job, "step-ended")
            elif not job.client.is_connected:
                problem = _ended(job, "step-ended left", client=job.client.name)
            elif not job.advance(step):
                return
        except Exception as error:  # the request fails, the world goes on
            reason = f"{type(error).__name__}: {error}"
            problem = RequestError("invalid", subject="step", reason=reason)
        self.finish_job(problem)

    def finish_job(self, problem: RequestError | None) -> None:
        """Answer the running `step`, then the requests that waited for it."""
        job, self.job = self.job, None
        self._cancelled = job
        if job is not None:
            job.client.last_request = time.monotonic()  # it was not silent, it waited
            job.finish(problem)
            for answer in job.waiting:
                if job.client.is_connected:  # a client that left must not get the clock back
                    answer()

    def cancel(self, client: Client, *, take: bool) -> int | None:
        """End the running `step`; returns the steps that it took, None if there is none.

        Raises:
            RequestError: it is another client's.
        """
        ended, self._cancelled = self._cancelled, None
        if ended is not None and ended.client is client and ended.is_cancelled:
            return ended.done  # by this request, which waited for the reply to the step
        current = self.current
        job = None if current is None else current.job
        if job is None:
            return None
        self.claim(client, "cancel", take=take)
        self.begin(client)
        return job.done

    # A silent client ----------------------------------------------------------------------------

    def check_silence(self, patience: float, reaction: OnLockTimeout) -> bool:
        """End lock step if its client sent nothing for `patience` [s]; whether it did."""
        holder = self.holder
        if not self.is_on or holder is None or self.job is not None:
            return False
        if not holder.is_connected and not self._is_loss_reported:
            self._is_loss_reported = True
            values = {"here": holder.name, "patience": patience, "reaction": str(reaction)}
            self._notify(note("lock-step-left", "", **values))
        if time.monotonic() - holder.last_request <= patience:
            return False
        is_run = reaction is OnLockTimeout.RUN
        form = "lock-step-silent runs" if is_run else "lock-step-silent waits"
        silence = note("lock-step-silent", "", form=form, here=patience, unit="s")
        self._notify(replace(silence, evidence={"client": holder.name}))
        holder.warning = silence.text
        if is_run:
            self.end()
        else:
            self.holder = None
        return True


def _ended(job: StepJob, form: str, client: str = "") -> RequestError:
    """The error of a `step` that ended early."""
    steps = {"here": job.done, "expected": job.total}
    return RequestError("step-ended", form=form, client=client, **steps)
