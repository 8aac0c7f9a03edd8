"""Types of ROS 1 and what they become."""

import pytest

from fieldplay.bags.ros1 import conversion_of_kind
from fieldplay.core.errors import ArchiveError
from fieldplay.messages.cdr_layout import MessageKind, typestore


def test_type_without_definition_of_inner_type_is_refused_by_name() -> None:
    imu = "sensor_msgs/msg/Imu"
    kind = MessageKind(msgtype=imu, definitions={imu: typestore().fielddefs[imu]}, is_cdr=False)
    with pytest.raises(ArchiveError, match="no definition of std_msgs/msg/Header"):
        conversion_of_kind(kind)
