"""Hands the memory what waits for it while the console is open: when the first rows are drawn, then every five minutes.

In a thread of its own over an environment of its own, so that neither a slow memory nor the loading of its library
makes a key wait; what is handed over is a commit of another connection, and so comes back through the queue's feed.
Nothing is told here: what was taken, and why another was not, is in the queue. Nobody waits for the thread: leaving
the console ends it wherever it is, and a text that was under way is offered again. Source: queue page, Memory.
"""

from threading import Event, Thread
from typing import Final

from phelix_core.checks import Surface
from phelix_core.cli.main import unforeseen
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.settings import Settings

EVERY_S: Final = 300.0


def has_to_deliver(settings: Settings) -> bool:
    """Whether there is a memory, and a console that may write what it took."""
    return settings.memory is not None and not settings.read_only


class Deliveries:
    """The thread, from `start` to `stop`."""

    def __init__(self, env: Environment, *, every_s: float = EVERY_S) -> None:
        self._env = open_environment(env.settings, Surface.TUI, clock=env.clock, mint=env.mint)
        self._every_s = every_s
        self._stopped = Event()

    def start(self) -> None:
        """Begin; called once."""
        # A worker of Textual's would be waited for at the end, and a memory may take two minutes.
        Thread(target=self._run, name="deliveries", daemon=True).start()

    def stop(self) -> None:
        """Let it end after what it is at."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._hand_over()
                self._stopped.wait(self._every_s)
        except Exception as error:  # noqa: BLE001 - a thread's edge: reported once, and not tried again
            unforeseen(error)

    def _hand_over(self) -> None:
        """Offer what waits; the file is let go of, so that one put in its place is found the next time."""
        try:
            run(load_command("queue memory sync"), {}, self._env)
        finally:
            self._env.queue.close()
