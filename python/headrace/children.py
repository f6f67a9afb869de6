"""Tasks that child processes do, a line for a line, so that a crash or a hang costs one task."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

SECONDS_FOR_ONE = 60


@dataclass
class Child:
    """A process that answers each line on `questions` with a line on `answers`."""

    pid: int
    questions: int
    answers: int
    task: object = None
    line: bytes = b""
    deadline: float = 0.0

    def ask(self, task: object) -> None:
        self.task, self.line, self.deadline = task, b"", time.monotonic() + SECONDS_FOR_ONE
        try:
            os.write(self.questions, f"{task}\n".encode())
        except BrokenPipeError:
            pass  # it is dead, and its end of `answers` says so

    def end(self, is_ending: bool = False) -> int:
        """Its exit code, or minus the signal that ended it."""
        os.close(self.questions)
        os.close(self.answers)
        if not is_ending:
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def forked(answer: Callable[[str], str]) -> Child:
    """A copy of this process, with all that it has loaded. It should have no threads yet."""
    asked, questions = os.pipe()
    answers, answered = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with open(asked) as source, open(answered, "w") as sink:
                for line in source:
                    print(answer(line.rstrip("\n")), file=sink, flush=True)
        finally:
            os._exit(0)
    os.close(asked)
    os.close(answered)
    return Child(pid, questions, answers)


def answers(tasks: Iterable, answer: Callable[[str], str], jobs: int) -> Iterator[tuple]:
    """Each task with the line that is its answer, as they come; instead of the line of one whose
    child died or took too long there is None, and then why."""
    waiting = iter(tasks)
    selector = selectors.DefaultSelector()

    def give_next(child: Child) -> None:
        if (task := next(waiting, None)) is None:
            child.end()
            return
        child.ask(task)
        selector.register(child.answers, selectors.EVENT_READ, child)

    try:
        for _ in range(jobs):
            give_next(forked(answer))
        while children := [key.data for key in selector.get_map().values()]:
            soonest = min(child.deadline for child in children)
            ready = {
                key.data.pid for key, _ in selector.select(max(0.0, soonest - time.monotonic()))
            }
            for child in children:
                late = time.monotonic() > child.deadline
                part = os.read(child.answers, 1 << 16) if child.pid in ready else b""
                child.line += part
                if child.line.endswith(b"\n"):
                    selector.unregister(child.answers)
                    yield child.task, child.line.decode(), ""
                    give_next(child)
                elif late or (child.pid in ready and not part):
                    selector.unregister(child.answers)
                    # One that closed its answers is about to end, with a status of its own.
                    status = child.end(is_ending=not late)
                    why = f"ended the process ({status})" if not late else "takes too long"
                    yield child.task, None, why
                    give_next(forked(answer))
    finally:
        for key in list(selector.get_map().values()):
            key.data.end()
        selector.close()
