"""The services of rosbag2's player, answered by a playback."""

import re
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rosbag2_interfaces import srv

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.player.playback import Playback


def offer_services(node: Node, playback: Playback, group: CallbackGroup) -> None:
    """Offer the services below a node's name."""

    def answer(kind: Any, act: Callable[[Any], Any], field: str = "") -> None:
        """One named after its type: what act gives for a request is put into a field of the response."""

        def callback(request: Any, response: Any) -> Any:
            value = act(request)
            if field:
                setattr(response, field, value)
            return response

        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
        node.create_service(kind, f"~/{name}", callback, callback_group=group)

    answer(srv.Pause, lambda _: playback.pause())
    answer(srv.Resume, lambda _: playback.resume())
    answer(srv.TogglePaused, lambda _: playback.toggle_paused())
    answer(srv.IsPaused, lambda _: playback.status().paused, "paused")
    answer(srv.GetRate, lambda _: playback.status().rate, "rate")
    answer(srv.SetRate, lambda request: playback.set_rate(request.rate), "success")
    answer(srv.PlayNext, lambda _: playback.play_next(), "success")
    answer(srv.Burst, lambda request: playback.burst(request.num_messages), "actually_burst")
    answer(srv.Seek, lambda request: playback.seek(request.time.sec * NS_PER_S + request.time.nanosec), "success")
    answer(srv.Stop, lambda _: playback.stop())
