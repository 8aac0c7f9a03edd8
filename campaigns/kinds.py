"""The kinds of inputs by their names."""

from collections.abc import Callable, Mapping

from campaigns import archives
from campaigns.bags import Bags
from campaigns.descriptions import Descriptions
from campaigns.frame import Inputs
from campaigns.labels import Labels
from campaigns.marked_lines import Marked
from campaigns.message_pack_logs import MessagePackLogs
from campaigns.pictures import Pictures
from campaigns.point_clouds import PointClouds
from campaigns.rasters import Rasters
from campaigns.tables import Tables

KINDS: Mapping[str, Callable[[], Inputs]] = {
    "tables": Tables,
    "marked-lines": Marked,
    "logs": MessagePackLogs,
    "point-clouds": PointClouds,
    "pictures": Pictures,
    "rasters": Rasters,
    "labels": Labels,
    "descriptions": Descriptions,
    "bags": Bags,
    "archive-ameds": archives.ameds,
    "archive-ida": archives.ida,
    "archive-acfr": archives.acfr,
    "archive-rosario": archives.rosario,
    "archive-sherpatt": archives.sherpatt,
}
