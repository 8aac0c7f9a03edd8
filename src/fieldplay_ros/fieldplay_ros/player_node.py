"""The player node: an archive as live topics, with rosbag2's services."""

import gc
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import FrameType, TracebackType
from typing import Any, NoReturn, get_args

import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor, ShutdownException, TimeoutException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Task
from rclpy.timer import Timer
from rosbag2_interfaces import srv
from std_msgs.msg import String

from fieldplay.bags.storage import Qos
from fieldplay.core.errors import UsageError, UserError, pluralize, unknown_name
from fieldplay.core.process_exit import end_with_launch, exit_deadline
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.archive import WARNING, Archive
from fieldplay.datasets.registry import open_dataset, spec_of_archive
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.player.dds_profile import completed_profile, profile_issue, use_profile
from fieldplay.player.options import OPTIONS, Option, PlayOptions, options_of_values
from fieldplay.player.playback import WAITING, Playback
from fieldplay.player.player_state import (
    diagnostics,
    end_summary,
    is_behind,
    play_plan,
    reader_of_feeds,
    start_message,
    wait_description,
)
from fieldplay.player.player_time import wake_exactly
from fieldplay.player.qos_overrides import overrides_from_file
from fieldplay.player.read_ahead import LARGE_TYPES, Workers
from fieldplay.streams.image_topics import ImageTransport
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.dynamic_tf import check_switches, live_switches
from fieldplay.topics.selection import Selection, is_topic_name, remapping
from fieldplay.topics.topic_checks import check_settings
from fieldplay_ros.live_sink import (
    CLOCK,
    RosPublisherSink,
    message_class,
    profile,
)

WORKERS = 3  # a burst of a whole archive occupies one for long
THRESHOLDS = (50_000, 20, 100)  # playing leaves some hundred objects a second
ASSIGN = ":="
NAME = "player"
UNIT_MISMATCH = "unit_mismatch"
MB = 1_000_000
DONE, FAILED = 0, 1
LOOK_S = 0.1  # how often it is looked for who is waited for
SETTLE_S = 0.3  # a subscriber that is known here may not know of the topic yet
FINAL_DELIVERY_S = (
    5.0  # how long the last messages may take to their subscribers: without our settings, DDS asks every 3 s
)
HEED_S = 0.5
RCLPY_OWN = re.compile(r"(use_sim_time|start_type_description_service|qos_overrides\..*)$")
SWITCH_S = 0.0001  # how long a thread that computes may keep the one that publishes waiting


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


# Answers a node's services and timers, apart from the threads that play.


class ServiceThread(Executor, AbstractContextManager["ServiceThread"]):
    """An executor in threads of its own; leaving it waits until every started answer is sent."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.add_node(node)
        self._node = node
        self._ending = Event()
        self._pool = ThreadPoolExecutor(WORKERS, "answer")
        self._thread = Thread(target=self._spin, name="services")

    def __enter__(self) -> "ServiceThread":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self.create_task(lambda: None)  # something to do: merely woken, it would wait on
        self._thread.join()
        self._pool.shutdown()
        self.remove_node(self._node)
        self.shutdown()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        try:
            handler, _, _ = self.wait_for_ready_callbacks(timeout_sec)
        except (ShutdownException, TimeoutException):
            return
        self._pool.submit(self._run, handler)

    def _spin(self) -> None:
        while not self._ending.is_set():
            self.spin_once()

    def _run(self, handler: Task) -> None:
        handler()
        error = handler.exception()
        if error is not None:
            self._node.get_logger().error(f"a service or timer failed: {error!r}")


# Python looks for rings of garbage when it pleases, and keeps everything waiting for as long.


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """What there is by now is never looked at again, and what comes so seldom that nothing is late for it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


# The parameters of the player node, and what becomes of their values.


def options_of_parameters(values: Mapping[str, Any], namespace: str | None) -> PlayOptions:
    """What the values of all parameters ask for; UsageError names one that makes no sense."""
    parameters = {name: _as_type_of(name, values[name], option.default) for name, option in OPTIONS.items()}
    if parameters["images"] not in get_args(ImageTransport):
        raise UsageError(f"images: expected one of {', '.join(get_args(ImageTransport))}, got {parameters['images']!r}")
    selection = Selection(
        start_s=parameters["start"],
        duration_s=None if parameters["duration"] < 0 else parameters["duration"],
        topics=tuple(parameters["topics"].split()),
        exclude_topics=tuple(parameters["exclude_topics"].split()),
        remap=dict(map(remapping, parameters["remap"].split())),
        namespace=namespace,
        parameters=dataset_parameters(values["dataset_parameters"]),
        **{name: parameters[name] for name in ("images", "rectify", "frame_prefix", "map_tf", "joints_tf")},
    )
    return options_of_values(parameters, selection)


def switches_of_parameters(values: Mapping[str, Any]) -> dict[str, bool]:
    """The switches of the dataset's tf, whose parameters are called as they are."""
    return {name: bool(_as_type_of(name, value, True)) for name, value in values.items()}


def dataset_parameters(value: Any) -> dict[str, Any]:
    """Parameters of a dataset from texts 'name:=value', the values read as YAML."""
    declared = {}
    for text in filter(None, [value] if isinstance(value, str) else value):
        name, assign, content = str(text).partition(ASSIGN)
        if not (name and assign):
            raise UsageError(f"dataset_parameters: expected name{ASSIGN}value, got {text!r}")
        try:
            declared[name] = value_of_yaml(content) if content else ""
        except yaml.YAMLError as error:
            raise UsageError(f"dataset_parameters: {name}: {error}") from None
    return declared


def parameters_by_name(spec: DatasetSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    """The dataset's parameters among those given to the node, beside the switches of its tf.

    UsageError names one that the node does not know, and the nearest that it does.
    """
    known = {*OPTIONS, *spec.parameters, *live_switches(spec)}
    for name in values:
        if name not in known:
            raise UsageError(unknown_name(name, known, what="parameter", owner=f"the player of {spec.name}"))
    return {name: value for name, value in values.items() if name in spec.parameters}


def _as_type_of(name: str, value: Any, default: Any) -> Any:
    """Convert the value to the type of the default: a command line makes 2 out of 2.0, and 5 out of a folder "5"."""
    if isinstance(default, str):
        return value if isinstance(value, str) else str(value)
    if isinstance(default, bool):
        return _validate(name, value, isinstance(value, bool), "true or false")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, int):
        return int(_validate(name, value, is_number and value == int(value), "a whole number"))
    return float(_validate(name, value, is_number, "a number"))


def _validate(name: str, value: Any, good: bool, expected: str) -> Any:
    if not good:
        raise UsageError(f"{name}: expected {expected}, got {value!r}")
    return value


class _Interrupted(BaseException):
    """The user, or the system, interrupts before playing starts; no Exception that a library may catch."""


class Player(Node):
    """The topics, the services, and the state once a second."""

    def __init__(self, archive: Archive, options: PlayOptions, workers: Workers) -> None:
        namespace = options.selection.namespace or ""
        super().__init__(NAME, namespace=namespace)
        declare_parameters(self)
        declare_dataset_parameters(self, archive, options.selection.parameters)
        check_switches(archive.spec, options.selection)
        self.options = _without_clock(self, options)
        self._archive = archive
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._group = ReentrantCallbackGroup()
        tf = declare_switches(self, {**live_switches(archive.spec), **options.selection.tf})
        selection = replace(options.selection, namespace=self.get_namespace(), tf=tf)
        self._not_installed: dict[str, list[str]] = {}
        try:
            self._program, self._feeds = play_plan(archive, selection, is_left_out=self._is_excluded)
        finally:
            self._log_not_installed()
        self._is_complete = False
        self.topics = RosPublisherSink(
            self,
            self._feeds,
            overrides_from_file(options.qos_overrides) if options.qos_overrides else {},
            with_clock=self.options.clock_hz > 0,
            rate=self.options.rate,
        )
        self.playback = Playback(
            self._program,
            reader_of_feeds(self._feeds, self._program, workers),
            self.topics,
            self.options,
            changed=workers.changed,
            report=self.get_logger().warning,
        )
        self._offer_description(options.urdf)
        offer_services(self, self.playback, self._group)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._every(1.0, self.publish_state)
        if options.waits:
            self.get_logger().info(f"waits for {wait_description(options)}")
            self._look_again = self._every(LOOK_S, self._look_for_subscribers)
        if options.waits and options.wait_timeout_s:
            self._timeout = self._every(options.wait_timeout_s, self._start_after_timeout)
        self.get_logger().info(start_message(archive, self._program, self._feeds, options))

    def publish_state(self) -> None:
        """Publish the state of playback."""
        status = self.playback.status()
        values = diagnostics(status, self._program, self._feeds, self._archive.defects.total)
        values["subscribers"] = str(self.topics.subscribers)
        values["waits for subscribers"] = str(self.topics.waits)
        summary = DiagnosticStatus(
            level=DiagnosticStatus.WARN if is_behind(status) else DiagnosticStatus.OK,
            name=f"{self.get_fully_qualified_name()}: playing",
            message=f"behind by {values['lag']} s" if is_behind(status) else status.state,
            hardware_id=self._archive.spec.name,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[summary])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def log_mismatches(self) -> None:
        """Log which settings the data contradict, what a bag lacks, and what delays large messages, before playing."""
        is_large = any(feed.msgtype in LARGE_TYPES for feed in self._feeds)
        if is_large and (issue := profile_issue()):
            self.get_logger().warning(issue)
        for line in self._archive.warnings if self._archive.bag is not None else ():
            self.get_logger().warning(line.removeprefix(WARNING))
        check_settings(self._archive)
        for defect in self._archive.defects.listed:
            if defect.kind == UNIT_MISMATCH:
                self.get_logger().warning(str(defect))

    def log_end(self) -> None:
        """Log what was played, and what was not and why."""
        self.publish_state()
        first, *rest = end_summary(self.playback.status(), self._archive.defects)
        self.get_logger().info(first)
        if self.topics.waits:
            waits = pluralize(self.topics.waits, "time")
            self.get_logger().info(f"waited {waits} for subscribers that were slower than the play")
        for line in rest:
            self.get_logger().warning(line)

    def _is_excluded(self, feed: TopicStream) -> bool:
        """Whether nothing can be sent on a topic of a bag: its type is not installed here, or the clock is ours."""
        if self._archive.bag is None:
            return False
        if feed.topic == CLOCK and self.options.clock_hz:
            self.get_logger().warning(f"{CLOCK} of the bag is left out, as the player's own is requested")
            return True
        if not is_topic_name(feed.topic):
            why = f"ROS 2 allows no such topic name; --remap {feed.topic}:=NAME gives it another"
            self.get_logger().warning(f"{feed.topic} is left out: {why}")
            return True
        try:
            message_class(feed.msgtype)
        except UsageError:
            self._not_installed.setdefault(feed.msgtype.partition("/")[0], []).append(feed.topic)
            return True
        return False

    def _log_not_installed(self) -> None:
        """Log the topics whose types are not installed, one line per package."""
        for package, topics in self._not_installed.items():
            what = f"{pluralize(len(topics), 'topic')} with types that this ROS 2 does not have: {', '.join(topics)}"
            self.get_logger().warning(f"{package}: left out {what}")

    def _offer_description(self, urdf: Path | None) -> None:
        if urdf is None:
            return
        try:
            text = urdf.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"urdf: {urdf}: {error}") from None
        offer = profile(Qos(durability="transient_local", depth=1))
        self._description = self.create_publisher(String, "robot_description", offer)
        self._description.publish(String(data=text))

    def _every(self, seconds: float, act: Callable[[], None]) -> Timer:
        return self.create_timer(seconds, act, callback_group=self._group, clock=self._steady)

    def _look_for_subscribers(self) -> None:
        enough = self.topics.subscribers >= self.options.wait_for_subscribers
        if enough and not self._is_complete and not self.topics.unheard(self.options.wait_for_streams):
            self._is_complete = True
            self.destroy_timer(self._look_again)  # one that is merely cancelled wakes those who wait
            self._settled = self._every(SETTLE_S, self._start)

    def _start(self) -> None:
        self.destroy_timer(self._settled)
        self.playback.release()

    def _start_after_timeout(self) -> None:
        self.destroy_timer(self._timeout)
        if self._is_complete:
            return
        self.destroy_timer(self._look_again)
        if self.playback.status().state == WAITING:
            requested = self.options.wait_for_subscribers
            missing = [f"{self.topics.subscribers} of {requested} subscribers"] if requested else []
            missing += self.topics.unheard(self.options.wait_for_streams)
            self.get_logger().warning(f"starts with {', '.join(missing)}")
        self.playback.release()


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `player`: plays what its parameters say; the exit code."""
    sys.setswitchinterval(SWITCH_S)
    interrupted = Event()
    try:
        _on_signal(partial(_interrupt, interrupted))
        end_with_launch()
        with initialised(arguments):
            return _play_from_arguments(interrupted)
    except (UserError, OSError) as error:
        sys.stderr.write(f"{NAME}: {error}\n")
        return FAILED
    except _Interrupted:
        return DONE
    finally:
        ignore_signals()


@contextmanager
def initialised(arguments: Sequence[str] | None) -> Iterator[None]:
    """Rclpy without its handlers of signals, and Fast DDS with settings for images and clouds, until the end."""
    use_profile()
    with completed_profile():
        try:
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            yield
        finally:
            with exit_deadline():
                rclpy.try_shutdown()


def ignore_signals() -> None:
    """What has ended well is not to be killed while Python ends: a launch sends SIGINT beside the terminal's."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _play_from_arguments(interrupted: Event) -> int:
    values, others, namespace = parameter_values()
    options = options_of_parameters(values, namespace)
    if not values["archive"]:
        raise UsageError("archive: expected the folder or file to play, got nothing")
    path, dataset = Path(str(values["archive"])).expanduser(), str(values["dataset"]) or None
    if others:
        spec = spec_of_archive(path, dataset)
        dataset, own = spec.name, parameters_by_name(spec, others)
        selection = replace(options.selection, parameters={**options.selection.parameters, **own})
        options = replace(options, selection=selection)
    return play(path, dataset, options, interrupted)


def play(path: Path, dataset: str | None, options: PlayOptions, interrupted: Event | None = None) -> int:
    """Play until the archive's end or a signal; rclpy is initialised without its handlers, ours stay in place.

    If a signal has come already (`interrupted`), nothing is played.
    """
    with relaxed_gc(), open_dataset(path, dataset, options.selection.parameters) as archive:
        namespace = archive.spec.namespace if options.selection.namespace is None else options.selection.namespace
        options = replace(options, selection=replace(options.selection, namespace=namespace))
        if options.skip_gaps_s is None:
            options = replace(options, skip_gaps_s=archive.spec.skip_gaps_s)
        with Workers(limit=round(options.read_ahead_mb * MB)) as workers:
            player = Player(archive, options, workers)
            player.log_mismatches()
            try:
                return _run(player, interrupted or Event())
            finally:
                player.topics.close()
                with exit_deadline():
                    player.destroy_node()


def _run(player: Player, interrupted: Event) -> int:
    """Play in one thread, answer in others, and wait here, where signals arrive."""
    done, woken = Event(), Event()

    def end(*_: object) -> None:
        """Take no lock of playback's: the thread that holds it may wait for one of this thread's."""
        interrupted.set()
        woken.set()

    def stop_when_interrupted() -> None:
        woken.wait()
        if interrupted.is_set():
            player.playback.stop()

    Thread(target=stop_when_interrupted, name="stop", daemon=True).start()
    _on_signal(end)
    if interrupted.is_set():  # and what was raised then was lost: in a callback of C, say, it is only printed
        woken.set()
    with (
        relaxed_gc(),  # once more: what the opening has made is not looked at either
        player.topics.keep_publishers(),
        ThreadPoolExecutor(1, "play", wake_exactly) as thread,
    ):
        playing = thread.submit(player.playback.run)
        playing.add_done_callback(lambda _: done.set())
        with ServiceThread(player):  # only now: an answer waits until playing has started
            wait_heeding_signals(done)
            playing.result()
            player.log_end()
            woken.set()  # so that the thread that stops playback ends as well
            is_received = interrupted.is_set() or player.topics.wait_until_received(
                FINAL_DELIVERY_S, interrupted.is_set
            )
            if not is_received and not interrupted.is_set():
                player.get_logger().warning("a subscriber has not taken the last messages")
    return DONE


def wait_heeding_signals(done: Event) -> None:
    """Wait in the main thread, whose handlers run only while it does: a wait without end may miss a signal for ever.

    It does where another thread takes the signal, or where that comes just before the wait.
    """
    while not done.wait(HEED_S):
        pass


def parameter_values() -> tuple[dict[str, Any], dict[str, Any], str | None]:
    """Return the values of the player's parameters, those of other names, and the namespace if one is given.

    They are known before the player can be made: the dataset decides which others there are.
    """
    probe = Node(
        NAME, enable_rosout=False, start_parameter_services=False, automatically_declare_parameters_from_overrides=True
    )
    try:
        namespace = probe.get_namespace().strip("/")
        overrides = {name: parameter.value for name, parameter in probe.get_parameters_by_prefix("").items()}
        values = {name: overrides.get(name, option.default) for name, option in OPTIONS.items()}
        others = {name: value for name, value in overrides.items() if name not in values and not RCLPY_OWN.match(name)}
        return values, others, namespace or None
    finally:
        with exit_deadline():  # two of one name at a time would leave the player without its name
            probe.destroy_node()


def declare_parameters(node: Node) -> dict[str, Any]:
    """Declare all parameters, and return their values."""
    return {name: _declare(node, name, option.default, _help(option)) for name, option in OPTIONS.items()}


def _help(option: Option) -> str:
    return option.help + (f" One of {', '.join(option.choices)}." if option.choices else "")


def declare_dataset_parameters(node: Node, archive: Archive, chosen: Mapping[str, Any]) -> None:
    """Declare the dataset's parameters with the values in use, so that they can be listed and described."""
    for name, parameter in archive.spec.parameters.items():
        choices = f" One of {', '.join(map(str, parameter.choices))}." if parameter.choices else ""
        _declare(node, name, chosen.get(name, parameter.default), parameter.help + choices)


def declare_switches(node: Node, defaults: dict[str, bool]) -> dict[str, bool]:
    """Declare the switches of the dataset's tf, and return their state."""
    meaning = "A switch of the dataset's tf; odom_tf of one that a node computes: whether it does."
    return switches_of_parameters({name: _declare(node, name, value, meaning) for name, value in defaults.items()})


def _declare(node: Node, name: str, default: Any, meaning: str) -> Any:
    descriptor = ParameterDescriptor(description=meaning, read_only=True, dynamic_typing=True)
    return node.declare_parameter(name, default, descriptor).value


def _without_clock(node: Node, options: PlayOptions) -> PlayOptions:
    """/clock would have the archive's time, which messages with new stamps do not have."""
    if options.stamps == "now" and options.clock_hz:
        node.get_logger().warning("clock: with stamps:=now there is no /clock, the messages have the time of day")
        return replace(options, clock_hz=0.0)
    return options


def _on_signal(handler: Callable[..., object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _interrupt(interrupted: Event, number: int, frame: FrameType | None) -> NoReturn:
    interrupted.set()
    ignore_signals()  # a second one must not disturb what cleans up after the first
    raise _Interrupted(signal.Signals(number).name)


if __name__ == "__main__":
    sys.exit(main())
