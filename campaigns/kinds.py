"""The kinds of inputs by their names."""

from collections.abc import Callable, Mapping

from campaigns import archives
from campaigns.bags import Bags
from campaigns.descriptions import Descriptions
from campaigns.frame import Inputs
from campaigns.index_caches import IndexCaches
from campaigns.labels import Labels
from campaigns.marked_lines import Marked
from campaigns.message_pack_logs import MessagePackLogs
from campaigns.nmea_logs import NmeaLogs
from campaigns.pds4_tables import Pds4Tables
from campaigns.pictures import Pictures
from campaigns.play import Plays
from campaigns.point_clouds import PointClouds
from campaigns.rasters import Rasters
from campaigns.settings import Settings
from campaigns.tables import Tables
from campaigns.trajectories import Trajectories
from campaigns.zips import Zips

KINDS: Mapping[str, Callable[[], Inputs]] = {
    "tables": Tables,
    "marked-lines": Marked,
    "nmea": NmeaLogs,
    "logs": MessagePackLogs,
    "point-clouds": PointClouds,
    "pictures": Pictures,
    "rasters": Rasters,
    "labels": Labels,
    "pds4-tables": Pds4Tables,
    "descriptions": Descriptions,
    "settings": Settings,
    "bags": Bags,
    "play": Plays,
    "index-caches": IndexCaches,
    "zips": Zips,
    "trajectories": Trajectories,
    "archive-ameds": archives.ameds,
    "archive-ida": archives.ida,
    "archive-acfr": archives.acfr,
    "archive-rosario": archives.rosario,
    "archive-sherpatt": archives.sherpatt,
    "archive-euroc": archives.euroc,
    "archive-kitti-drive": archives.kitti_drive,
    "archive-kitti-sequence": archives.kitti_sequence,
}
