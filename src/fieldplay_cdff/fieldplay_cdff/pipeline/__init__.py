"""Chains of processing steps (DFPCs) from their descriptions, and their execution; without ROS.

`chains.py` finds descriptions and flattens nested ones to one chain, `pipeline_graph.py` checks it and
orders its steps, `inputs.py` pairs inputs by their stamps, `pipeline_run.py` runs the steps, `statistics.py` counts
and times them.
"""

from fieldplay_cdff.pipeline.chains import PipelineInfo, pipelines
from fieldplay_cdff.pipeline.configuration import Configuration, settings_of_arguments
from fieldplay_cdff.pipeline.configuration_files import configuration_of_arguments, configuration_of_file
from fieldplay_cdff.pipeline.pipeline_run import (
    Failure,
    Pipeline,
    PipelineOutput,
    PipelineStopped,
    load_pipeline,
    pipeline_of,
)

__all__ = [
    "Configuration",
    "Failure",
    "Pipeline",
    "PipelineInfo",
    "PipelineOutput",
    "PipelineStopped",
    "configuration_of_arguments",
    "configuration_of_file",
    "load_pipeline",
    "pipeline_of",
    "pipelines",
    "settings_of_arguments",
]
