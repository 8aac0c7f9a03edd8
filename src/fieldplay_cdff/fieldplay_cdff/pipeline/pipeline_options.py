"""Options of a pipeline on live topics: for the parameters of the node, the launch files and the command."""

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple


def _option(default: Any, help_text: str) -> Any:
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True, kw_only=True)
class PipelineOptions:
    """The options of a pipeline on live topics; each field is a parameter of the node and an argument of the launch.

    Args:
        dfpc: name of a pipeline, or the file of a description.
        implementation: which of the pipeline's.
        inputs: PORT=TOPIC.
        config: a file of parameters.
        settings: STEP.GROUP.NAME=VALUE.
        topic: topic below which the outputs are published.
        scene_frame: frame of the outputs.
        queue: sets of inputs that may wait.
        stop_after: failures of a step in a row after which all stops.
        threads: threads that all steps share.
        products: folder of the products that are kept.
        world: name of the map that products are placed in.
        map_frame: frame that tf ties products to.
        stats_hz: how often statistics are published, in Hz.
        publish_tf: whether the camera's pose goes on /tf.
        autostart: whether the node becomes active by itself.
        step_timeout: seconds after which a step counts as hanging.
    """

    dfpc: str = _option("", "The pipeline: its name, or the file that describes one.")
    implementation: str = _option("", "Which of the pipeline's; the first where empty.")
    inputs: tuple[str, ...] = _option((), "Which topics feed the inputs: PORT=TOPIC")
    config: str = _option("", "A file of parameters as the authors of CDFF write them.")
    settings: tuple[str, ...] = _option((), "Parameters of steps: STEP.GROUP.NAME=VALUE")
    topic: str = _option("", "Below which the outputs are published; the pipeline's own where empty.")
    scene_frame: str = _option("", "The frame of the outputs; <topic>/scene where empty.")
    queue: int = _option(
        2, "Sets of inputs that may wait; where the steps are too slow older ones are dropped and counted."
    )
    stop_after: int = _option(0, "Failures of a step in a row after which all stops; 0 is never.")
    threads: int = _option(2, "That all steps share.")
    products: str = _option("", "The folder in which products are kept; none where empty.")
    world: str = _option(
        "", "Which map products are placed in: one name for runs that share it; one of this launch where empty."
    )
    map_frame: str = _option("map", "The frame that tf ties products to; none where empty.")
    stats_hz: float = _option(1.0, "How often statistics go to /diagnostics; 0 is never.")
    publish_tf: bool = _option(True, "Whether the pose goes on /tf.")
    autostart: bool = _option(True, "Whether the pipeline becomes active by itself.")
    step_timeout: float = _option(60.0, "Seconds after which a step counts as hanging; 0 is never.")


class PipelineOption(NamedTuple):
    """The name, the default and the help of an option; a tuple of texts is a list of them."""

    name: str
    default: Any
    help: str


def pipeline_options() -> tuple[PipelineOption, ...]:
    """List the options of a pipeline.

    Returns:
        The options, in the order of the fields of `PipelineOptions`.
    """
    return tuple(PipelineOption(each.name, each.default, each.metadata["help"]) for each in fields(PipelineOptions))
