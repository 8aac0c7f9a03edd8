"""The times that messages carry when they leave."""

from fieldplay_player.play_options import Stamps
from fieldplay_player.play_parts import Time
from fieldplay_player.reading import Message


class OutgoingStamps:
    """Says by how much the times inside a message are moved.

    They stay the archive's, apart from what further rounds add; or they become the time of day at which the message
    is due, the same for all messages of one time in the archive, and never going back.
    """

    def __init__(self, stamps: Stamps, system: Time) -> None:
        self._is_now = stamps == "now"
        self._time = system
        self._stamp_ns: int | None = None
        self._given_ns = 0
        self.shift_ns = 0

    def delta_ns(self, message: Message, due_ns: int) -> int:
        """What is added to the times inside a message that is due at a monotonic time."""
        if not self._is_now:
            return self.shift_ns
        if message.stamp_ns != self._stamp_ns:
            now = self._time.now()
            due_by_day_ns = self._time.wall() - now + min(due_ns, now)
            self._stamp_ns, self._given_ns = message.stamp_ns, max(self._given_ns, due_by_day_ns)
        return self._given_ns - message.stamp_ns

    def forget(self) -> None:
        """The play head has jumped: what comes at the same time of the archive is not the same moment."""
        self._stamp_ns = None
