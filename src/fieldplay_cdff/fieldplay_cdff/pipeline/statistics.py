"""Statistics of a run: calls, failures, times, bytes and dropped inputs, step by step."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from fieldplay_cdff.stereo.refusals import Reason, Refusal

NO_RESULT = str(Reason.NO_RESULT)  # why a set is refused where the steps ran, and gave none
FOREIGN = tuple(
    map(str, (Reason.DARK, Reason.DAMAGED, Reason.UNPAIRED, Reason.SWAPPED, Reason.UNRECTIFIED))
)  # reasons with which the steps did not run
ROOM = 1.1  # on a limit that is suggested
MAX_TIMES = 10_000  # durations from which the median and the 95th percentile are computed


@dataclass
class NumberSeries:
    """Numbers one after the other, of which the last are kept."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    last: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_TIMES))

    def add(self, value: float) -> None:
        """One more."""
        self.count += 1
        self.total += value
        self.most = max(self.most, value) if self.count > 1 else value
        self.last.append(value)

    def as_dict(self) -> dict[str, float]:
        """Sum, mean, median, 95th percentile, maximum."""
        if not self.count:
            return {"total": 0.0, "mean": 0.0, "p50": 0.0, "p95": 0.0, "max": 0.0}
        middle, high = np.percentile(np.fromiter(self.last, float), [50, 95])
        return {"total": self.total, "mean": self.total / self.count, "p50": float(middle), "p95": float(high),
                "max": self.most}  # fmt: skip

    def __str__(self) -> str:
        own = self.as_dict()
        return f"mean {own['mean']:.4f} p50 {own['p50']:.4f} p95 {own['p95']:.4f} max {own['max']:.4f} s"


@dataclass
class StepStatistics:
    """Of one step: calls, failures, times in s, bytes by the port that they came out of.

    `memory_peak` is the most (bytes) that the process took beyond what it had before a call, `memory_growth` what is
    still taken after all of them; both are measured on request.
    """

    name: str
    dfn: str
    implementation: str
    calls: int = 0
    failures: int = 0
    most_in_a_row: int = 0
    wall_s: NumberSeries = field(default_factory=NumberSeries)
    cpu_s: NumberSeries = field(default_factory=NumberSeries)
    bytes: dict[str, int] = field(default_factory=dict)
    memory_peak: int = 0
    memory_growth: int = 0

    def took(self, memory: tuple[int, int]) -> None:
        """Count the memory of a call: at the peak, and at its end."""
        self.memory_peak = max(self.memory_peak, memory[0])
        self.memory_growth += memory[1]

    def gave(self, outputs: Mapping[str, Any]) -> None:
        """Count the size of the outputs of a call."""
        for port, value in outputs.items():
            self.bytes[port] = self.bytes.get(port, 0) + size_of(value)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name, "dfn": self.dfn, "implementation": self.implementation, "calls": self.calls,
            "failures": self.failures, "most_in_a_row": self.most_in_a_row, "cpu_s": self.cpu_s.as_dict(),
            "wall_s": self.wall_s.as_dict(), "bytes": dict(self.bytes),
            "memory": {"peak": self.memory_peak, "growth": self.memory_growth},
        }  # fmt: skip

    def __str__(self) -> str:
        counts = f"{self.calls} calls, {self.failures} failures"
        sizes = "".join(f", {port} {count / 1e6:.1f} MB" for port, count in dict(self.bytes).items())
        return f"{counts}, wall {self.wall_s}, CPU {self.cpu_s}{sizes}"


@dataclass
class RefusalHint:
    """A remedy for the refusals of one kind: a parameter of a step, and the value with which all pass."""

    step: str
    parameter: str = ""  # Group.Name
    value: float | None = None
    detail: str = ""  # of the first one

    def add(self, refusal: Refusal) -> None:
        """One more of them."""
        self.detail = self.detail or refusal.detail
        if refusal.value is None or refusal.parameter != self.parameter:
            return
        worst = min if self.is_minimum else max
        self.value = refusal.value if self.value is None else worst(self.value, refusal.value)

    @property
    def is_minimum(self) -> bool:
        """Whether the parameter is a lower limit, so that less of it helps."""
        return self.parameter.rpartition(".")[2].startswith(("Minimum", "Least"))

    @property
    def suggested(self) -> float | None:
        """The value to set, with some room, two digits."""
        if self.value is None:
            return None
        if float(self.value).is_integer() and abs(self.value) >= 1:
            return self.value
        return float(f"{self.value / ROOM if self.is_minimum else self.value * ROOM:.2g}")

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"step": self.step, "parameter": self.parameter, "value": self.suggested, "detail": self.detail}

    def __str__(self) -> str:
        """In brackets: the numbers of the first one, and what to set."""
        value = self.suggested
        helps = f"--set {self.step}.{self.parameter}={value:g}" if self.parameter and value is not None else ""
        texts = "; ".join(text for text in (self.detail, helps) if text)
        return f" ({texts})" if texts else ""


@dataclass
class RunStatistics:
    """Of a run: its steps; of inputs what came, was dropped for want of what belongs to it, or skipped by its stamp.

    `age_s` is how old the inputs were at the output, counted from when the first of them came.
    """

    steps: Mapping[str, StepStatistics]
    inputs: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)  # sets without a result, by the reason
    hints: dict[str, "RefusalHint"] = field(default_factory=dict)  # by reason
    accepted: int = 0
    by_definition: int = 0  # of those accepted: first pairs, which are the scene
    waves: int = 0
    unequal: int = 0
    memory_method: str = ""  # by what memory was measured, if it was
    age_s: dict[str, NumberSeries] = field(default_factory=dict)

    def drop(self, port: str, count: int = 1) -> None:
        """Inputs were dropped, as by a queue before the pipeline."""
        self.dropped[port] = self.dropped.get(port, 0) + count

    def skip(self, port: str) -> None:
        """An input was skipped."""
        self.skipped[port] = self.skipped.get(port, 0) + 1

    def refuse(self, reason: str, step: str = "", refusal: Refusal | None = None) -> None:
        """Nothing came of a set of inputs.

        Args:
            reason: of the closed list.
            step: that refused it.
            refusal: the parameter that would help, and by how much.
        """
        self.refused[reason] = self.refused.get(reason, 0) + 1
        if refusal is not None:
            hint = self.hints.setdefault(reason, RefusalHint(step=step, parameter=refusal.parameter))
            hint.add(refusal)

    @property
    def input_sets(self) -> int:
        """Number of input sets that came, unusable ones included."""
        unused = sum(count for reason, count in self.refused.items() if reason in FOREIGN)
        return max([self.waves + unused, *self.inputs.values()])

    @property
    def cpu_s(self) -> float:
        """The CPU time of all steps, of all threads."""
        return sum(step.cpu_s.total for step in self.steps.values())

    @property
    def failures(self) -> int:
        """Calls that failed, of all steps."""
        return sum(step.failures for step in self.steps.values())

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "given": dict(self.inputs), "dropped": dict(self.dropped), "skipped": dict(self.skipped),
            "refused": dict(self.refused),
            "refused_because": {reason: hint.as_dict() for reason, hint in self.hints.items()},
            "sets": self.waves, "unequal_stamps": self.unequal, "accepted": self.accepted, "cpu_s": self.cpu_s,
            "memory_method": self.memory_method,
            "age_s": {port: series.as_dict() for port, series in list(self.age_s.items())},
            "steps": [step.as_dict() for step in self.steps.values()],
        }  # fmt: skip

    def refusals(self) -> list[str]:
        """Lines with how many sets of inputs have no result, why, and what would help; most frequent first."""
        counts = sorted(self.refused.items(), key=lambda each: -each[1])
        return [f"{count} {reason}{self.hints.get(reason, '')}" for reason, count in counts]

    def unmatched_inputs(self) -> list[str]:
        """Describe inputs without a partner, and pairs whose stamps differ."""
        lines = []
        if self.dropped:
            counts = ", ".join(
                f"{count} of {self.inputs.get(port, 0)} of {port}" for port, count in self.dropped.items()
            )
            lines.append(f"nothing belongs by its stamp to {counts}")
        if self.unequal:
            lines.append(f"the stamps of {self.unequal} of {self.waves} sets differ within half a period")
        return lines

    def as_texts(self) -> dict[str, str]:
        """Return the statistics as names and texts, for diagnostics."""
        texts = {"accepted": str(self.accepted), "cpu_s": f"{self.cpu_s:.3f}"}
        named = {"given": self.inputs, "dropped": self.dropped, "skipped": self.skipped, "refused": self.refused}
        for name, counts in named.items():
            texts |= {f"{name} {key}": str(count) for key, count in dict(counts).items()}
        texts |= {f"age {port}": str(series) for port, series in list(self.age_s.items())}
        return texts | {name: str(step) for name, step in self.steps.items()}

    def table(self) -> list[str]:
        """Lines of a table, times in ms, and of how old the inputs were at the outputs."""
        quantiles = ("p50", "p95", "max")
        head: tuple[str, ...] = ("step", "calls", "failures", "wall mean", *quantiles, "CPU mean", *quantiles, "MB out")
        rows = [_row(step) for step in self.steps.values()]
        if self.memory_method:
            head = (*head, "MB peak")
            peaks = (f"{step.memory_peak / 1e6:.1f}" for step in self.steps.values())
            rows = [(*row, peak) for row, peak in zip(rows, peaks, strict=True)]
        ages = [f"output {port}: {series.count} times, age {series}" for port, series in self.age_s.items()]
        return [*_align([head, *rows]), *ages]


def size_of(value: Any) -> int:
    """Bytes of the arrays that a value is made of."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(size_of(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    return 8 if isinstance(value, bool | int | float) else 0


def _row(step: StepStatistics) -> tuple[str, ...]:
    wall, cpu = step.wall_s.as_dict(), step.cpu_s.as_dict()
    times = [each[name] for each in (wall, cpu) for name in ("mean", "p50", "p95", "max")]
    counts = (step.name, str(step.calls), str(step.failures))
    return (*counts, *(f"{1e3 * each:.1f}" for each in times), f"{sum(step.bytes.values()) / 1e6:.1f}")


def _align(rows: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        shown = (text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join((name.ljust(widths[0]), *shown))
