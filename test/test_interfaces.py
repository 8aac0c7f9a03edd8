"""The interface definitions of the underlay are upstream's: the type hashes say so."""

import json
from pathlib import Path

from ament_index_python import get_package_share_directory

TF_MESSAGE_HASH = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"


def test_tf_message_has_upstream_s_type_hash() -> None:
    description = json.loads(Path(get_package_share_directory("tf2_msgs"), "msg", "TFMessage.json").read_text())
    hashes = {entry["type_name"]: entry["hash_string"] for entry in description["type_hashes"]}
    assert hashes["tf2_msgs/msg/TFMessage"] == TF_MESSAGE_HASH
