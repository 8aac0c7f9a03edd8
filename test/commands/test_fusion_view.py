"""The view of RViz for pipelines: that it shows topics which they, or the dataset, send, as their types."""

from fieldplay_cdff.io.outputs import OutTopics
from fieldplay_cdff.orchestration.orchestration import plan_file, plan_of_file
from fieldplay_cdff.pipeline import Configuration
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.pipeline_graph import graph_of
from support.robot_models import displays_of_topics, view_of

SENT = {"stereo/left/image_raw": "Image", "stereo/right/image_raw": "Image"}


def test_it_shows_what_pipelines_of_plan_send() -> None:
    sent = dict(SENT)
    scenes = set()
    for own in plan_of_file(plan_file("sherpatt")).pipelines.values():
        graph = graph_of(source_of(own.dfpc), own.implementation or None, Configuration())
        topics = OutTopics(ports=graph.outputs, prefix=graph.topic, scene=f"{graph.topic}/scene").topics()
        sent |= {topic: msgtype.rpartition("/")[2] for topic, msgtype in topics.items()}
        scenes.add(f"{graph.topic}/scene")
    view = view_of("fusion")
    shown = {display.topic: display.kind for display in displays_of_topics(view, "sherpatt")}
    assert len(shown) == 6 and shown.items() <= sent.items()
    assert view["Global Options"]["Fixed Frame"] in scenes
