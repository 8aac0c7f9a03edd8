"""The kinds of inputs by their names."""

from collections.abc import Callable, Mapping

from campaigns.frame import Inputs
from campaigns.marked_lines import Marked
from campaigns.message_pack_logs import MessagePackLogs
from campaigns.tables import Tables

KINDS: Mapping[str, Callable[[], Inputs]] = {
    "tables": Tables,
    "marked-lines": Marked,
    "logs": MessagePackLogs,
}
