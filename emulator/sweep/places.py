"""Places for the runs of a sweep: so many work at a time, while others wait for an answer that never comes."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock, Timer


class Places:
    """Places for ``jobs`` runs that work, and for ``waiting`` runs that use no processor."""

    def __init__(self, jobs: int, waiting: int) -> None:
        self._working = BoundedSemaphore(jobs)
        self._waiting = BoundedSemaphore(waiting)
        self._has_waiting = waiting > 0
        self.most = jobs + waiting

    @contextmanager
    def work(self, leave_after: float | None = None) -> Iterator[None]:
        """Have a place to work; a run that waits from then on leaves it for one to wait, if there is one.

        Args:
            leave_after: seconds after which the run only waits; ``None``: it works to its end.
        """
        self._working.acquire()
        held, lock = [self._working], Lock()

        def leave() -> None:
            with lock:
                if held and self._waiting.acquire(blocking=False):
                    held.pop().release()
                    held.append(self._waiting)

        timer = Timer(leave_after or 0.0, leave)
        timer.daemon = True
        if self._has_waiting and leave_after is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                held.pop().release()
