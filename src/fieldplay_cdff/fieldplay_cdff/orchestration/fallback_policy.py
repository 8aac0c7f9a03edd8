"""Between two pipelines: the one that is preferred, or the one that stands in for it."""

from fieldplay_cdff.orchestration.plan import PreferencePolicy


class Preference:
    """Decides by what is heard of the preferred pipeline's quality; all times are those of one clock, in s.

    Nothing heard counts as bad: a pipeline that withholds its results, hangs or is gone has no quality.
    """

    def __init__(self, policy: PreferencePolicy) -> None:
        self.policy = policy
        self.is_fallen_back = False
        self._good_s = 0.0  # when it was last good, or began
        self._bad_s = 0.0  # when it was last bad, or silent
        self._since_s = 0.0  # of the present choice

    def begin(self, now_s: float) -> None:
        """The preferred one begins, and has as long as is given to it to be good."""
        self.is_fallen_back = False
        self._good_s = self._bad_s = self._since_s = now_s

    def hear(self, quality: float, now_s: float) -> None:
        """What the preferred pipeline says of its quality; NaN is bad."""
        if now_s - max(self._good_s, self._bad_s) > self.policy.seconds:
            self._bad_s = now_s  # it was silent until now
        if quality >= self.policy.quality:
            self._good_s = now_s
        else:
            self._bad_s = now_s

    def decide(self, now_s: float) -> str:
        """Why the choice is another now; "" where it is not."""
        policy = self.policy
        if not self.is_fallen_back:
            if now_s - self._good_s < policy.seconds:
                return ""
            self.is_fallen_back, self._since_s = True, now_s
            return f"{policy.prefer} was below {policy.quality:g} for {policy.seconds:g} s: {policy.fallback} stands in"
        if policy.keep:
            is_good = self._good_s > self._bad_s and now_s - self._good_s < max(policy.seconds, 1.0)
            if not is_good or now_s - self._bad_s < policy.seconds or now_s - self._since_s < policy.seconds:
                return ""
            told = f"{policy.prefer} was at {policy.quality:g} and above for {policy.seconds:g} s: it takes over again"
        else:
            if not policy.retry_s or now_s - self._since_s < policy.retry_s:
                return ""
            told = f"{policy.prefer} has rested for {policy.retry_s:g} s: it is tried again"
        self.begin(now_s)
        return told

    @property
    def wanted(self) -> dict[str, bool]:
        """Which of both are to be active."""
        policy = self.policy
        return {policy.prefer: not self.is_fallen_back or policy.keep, policy.fallback: self.is_fallen_back}
