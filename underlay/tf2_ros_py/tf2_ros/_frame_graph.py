"""The tree of frames: what each child remembers of its parent, the walk from frame to frame, and what it can raise."""

from bisect import bisect_left, bisect_right
from collections.abc import Container
from typing import TypeAlias

from ._pose import IDENTITY, Pose, compose, interpolate, invert

Sample: TypeAlias = tuple[str, Pose]
"""The parent's name and parent_T_child."""

_NEVER = 1 << 63
"""Later than any stamp."""


class TransformException(Exception):
    """Base of every error about transforms."""


class LookupException(TransformException):
    """A frame is unknown, or the tree has a loop."""


class ConnectivityException(TransformException):
    """The two frames are not in one tree."""


class ExtrapolationException(TransformException):
    """The buffer holds no data at, or on both sides of, the requested time."""


class InvalidArgumentException(TransformException):
    """A frame id is empty or starts with a slash."""


class TimeoutException(TransformException):
    """Something did not answer in time; the buffer itself never raises it."""


def _seconds(stamp_ns: int) -> str:
    """Write a stamp as lookup errors show it."""
    return f"{stamp_ns / 1e9:.6f}"


class StaticCache:
    """One sample, valid at all times, which survives clear()."""

    def __init__(self) -> None:
        self._sample: Sample = ("", IDENTITY)

    def insert(self, stamp_ns: int, sample: Sample) -> bool:
        """Replace the sample."""
        self._sample = sample
        return True

    def at(self, stamp_ns: int) -> Sample:
        """Return the sample, whatever the stamp."""
        return self._sample

    def newest(self) -> tuple[int, str | None]:
        """Return stamp 0, which sets no limit on a common time."""
        return 0, self._sample[0]

    def clear(self) -> None:
        """Keep the sample: static transforms survive a jump in time."""


class TimeCache:
    """Samples in order of stamp, for a limited duration."""

    def __init__(self, duration_ns: int) -> None:
        self._duration_ns = duration_ns
        self._stamps: list[int] = []
        self._samples: list[Sample] = []

    def insert(self, stamp_ns: int, sample: Sample) -> bool:
        """Store a sample; False if it is older than the latest one by more than the duration.

        As upstream does, old samples go when the next one comes: what a leap forward in time
        has made too old is still there until the insertion after it.
        """
        stamps, samples = self._stamps, self._samples
        if stamps:
            horizon = stamps[-1] - self._duration_ns
            if stamps[0] < horizon:
                stale = bisect_left(stamps, horizon)
                del stamps[:stale], samples[:stale]
            if stamp_ns < horizon:
                return False
        index = bisect_right(stamps, stamp_ns)
        if sample not in samples[bisect_left(stamps, stamp_ns) : index]:
            stamps.insert(index, stamp_ns)
            samples.insert(index, sample)
        return True

    def at(self, stamp_ns: int) -> Sample:
        """Return the sample at a stamp, interpolated unless the parent changed in between."""
        stamps, samples = self._stamps, self._samples
        if stamp_ns == 0 and stamps:
            return samples[-1]
        after = bisect_right(stamps, stamp_ns)
        if after and stamps[after - 1] == stamp_ns:
            return samples[after - 1]
        if after == 0 or after == len(stamps):
            raise ExtrapolationException(self._why_not(stamp_ns))
        (parent, start), (next_parent, end) = samples[after - 1], samples[after]
        if parent != next_parent:
            return parent, start
        begin = stamps[after - 1]
        return parent, interpolate(start, end, (stamp_ns - begin) / (stamps[after] - begin))

    def newest(self) -> tuple[int, str | None]:
        """Return the latest stamp and its parent; no parent if empty."""
        return (self._stamps[-1], self._samples[-1][0]) if self._stamps else (0, None)

    def clear(self) -> None:
        """Forget everything."""
        self._stamps.clear()
        self._samples.clear()

    def _why_not(self, stamp_ns: int) -> str:
        stamps, prefix = self._stamps, "Lookup would require extrapolation"
        requested = _seconds(stamp_ns)
        if not stamps:
            return f"{prefix} at time {requested}, but there is no data in the buffer"
        if len(stamps) == 1:
            return f"{prefix} at time {requested}, but only time {_seconds(stamps[0])} is in the buffer"
        if stamp_ns > stamps[-1]:
            limit = f"latest data is at time {_seconds(stamps[-1])}"
            return f"{prefix} into the future.  Requested time {requested} but the {limit}"
        limit = f"earliest data is at time {_seconds(stamps[0])}"
        return f"{prefix} into the past.  Requested time {requested} but the {limit}"


class FrameGraph:
    """Frames by name. Stamps are nanoseconds; 0 as a request means the latest common time. Not thread-safe."""

    def __init__(self, duration_ns: int) -> None:
        self._duration_ns = duration_ns
        # Every known name in order of appearance; None for a frame that is nobody's child.
        self.caches: dict[str, StaticCache | TimeCache | None] = {}

    def insert(self, child: str, stamp_ns: int, sample: Sample, *, static: bool) -> bool:
        """Store parent_T_child; False if it is older than the cache reaches back."""
        kind = StaticCache if static else TimeCache
        cache = self.caches.get(child)
        if not isinstance(cache, kind):
            cache = StaticCache() if static else TimeCache(self._duration_ns)
            self.caches[child] = cache
        self.caches.setdefault(sample[0], None)
        return cache.insert(stamp_ns, sample)

    def clear(self) -> None:
        """Forget the samples of moving frames. Names and static transforms stay."""
        for cache in self.caches.values():
            if cache is not None:
                cache.clear()

    def check(self, frame: str, role: str) -> None:
        """Raise unless ``frame`` is a well-formed, known name; ``role`` says whose argument it was."""
        if not isinstance(frame, str):
            raise TypeError(f"{role} must be a str, not {type(frame).__name__}")
        if not frame:
            raise InvalidArgumentException(f'Invalid argument "" passed to {role} - in tf2 frame_ids cannot be empty')
        if frame[0] == "/":
            why = "in tf2 frame_ids cannot start with a '/'"
            raise InvalidArgumentException(f'Invalid argument "{frame}" passed to {role} - {why}')
        if frame not in self.caches:
            raise LookupException(f'"{frame}" passed to {role} does not exist. ')

    def lookup(self, target: str, source: str, stamp_ns: int) -> tuple[Pose, int]:
        """Return target_T_source and the stamp it holds for. Both frames must be known, or the same."""
        if target == source:
            return IDENTITY, stamp_ns or self._newest(target)[0]
        if stamp_ns == 0:
            stamp_ns = self.latest_common_time(target, source)
        poses, blocked = self._poses_above(source, stamp_ns, target)
        frame, pose, seen = target, IDENTITY, {target}
        while frame not in poses:
            cache = self.caches[frame]
            if cache is None:
                raise blocked or self._unconnected(target, source)
            try:
                frame, step = cache.at(stamp_ns)
            except ExtrapolationException as error:
                raise _located(error, target, source) from None
            pose = compose(step, pose)
            self._refuse_loop(frame, seen)
            seen.add(frame)
        return (poses[frame] if pose is IDENTITY else compose(invert(pose), poses[frame])), stamp_ns

    def latest_common_time(self, target: str, source: str) -> int:
        """Return the latest stamp that every moving link between the frames has reached; 0 if all are static."""
        if target == source:
            return self._newest(target)[0]
        limits = self._limits_above(source, target)
        frame, limit, seen = target, _NEVER, {target}
        while frame not in limits:
            stamp_ns, parent = self._newest(frame)
            if parent is None:
                raise self._unconnected(target, source)
            frame, limit = parent, min(limit, stamp_ns or _NEVER)
            self._refuse_loop(frame, seen)
            seen.add(frame)
        limit = min(limit, limits[frame])
        return 0 if limit == _NEVER else limit

    def listing(self) -> str:
        """Return a line for every frame that has, or had, a parent."""
        rows = ((name, cache.newest()[1]) for name, cache in self.caches.items() if cache is not None)
        return "".join(f"Frame {name} exists with parent {parent or 'NO_PARENT'}.\n" for name, parent in rows)

    def _poses_above(self, source: str, stamp_ns: int, target: str) -> tuple[dict[str, Pose], Exception | None]:
        """Return ancestor_T_source up to the target or the root, and what stopped the climb before that."""
        poses, frame, pose = {source: IDENTITY}, source, IDENTITY
        while frame != target:
            cache = self.caches[frame]
            if cache is None:
                break
            try:
                frame, step = cache.at(stamp_ns)
            except ExtrapolationException as error:
                return poses, _located(error, target, source)
            self._refuse_loop(frame, poses)
            poses[frame] = pose = compose(step, pose)
        return poses, None

    def _limits_above(self, source: str, target: str) -> dict[str, int]:
        """Return, for each ancestor up to the target or the root, the earliest of the latest stamps below it."""
        limits, frame, limit = {source: _NEVER}, source, _NEVER
        while frame != target:
            stamp_ns, parent = self._newest(frame)
            if parent is None:
                break
            self._refuse_loop(parent, limits)
            frame, limit = parent, min(limit, stamp_ns or _NEVER)
            limits[frame] = limit
        return limits

    def _newest(self, frame: str) -> tuple[int, str | None]:
        cache = self.caches.get(frame)
        return (0, None) if cache is None else cache.newest()

    def _refuse_loop(self, frame: str, seen: Container[str]) -> None:
        if frame in seen:
            raise LookupException(f"The tf tree is invalid because it contains a loop.\n{self.listing()}")

    def _unconnected(self, target: str, source: str) -> ConnectivityException:
        return ConnectivityException(
            f"Could not find a connection between '{target}' and '{source}' because they are not part of the same"
            " tree. Tf has two or more unconnected trees."
        )


def _located(error: ExtrapolationException, target: str, source: str) -> ExtrapolationException:
    return ExtrapolationException(f"{error}, when looking up transform from frame [{source}] to frame [{target}]")
