import pytest

from ros2cli.direct_node import Patience, wait_until_settled


class Graph:
    """A graph that takes the given pictures, each from its time on; looking at it costs no time, a step 0.1 s."""

    def __init__(self, pictures):
        self.pictures = pictures
        self.now_s = 0.0

    def look(self):
        picture = [picture for since_s, picture in self.pictures if since_s <= self.now_s][-1]
        return picture, picture is not None

    def step(self):
        self.now_s = round(self.now_s + 0.1, 6)

    def settles(self):
        patience = Patience(quiet_s=0.35, most_s=3.0)
        return wait_until_settled(self.look, self.step, patience=patience, now_s=lambda: self.now_s)


@pytest.mark.parametrize(
    ("pictures", "end_s"),
    [
        ([(0.0, "all")], 0.4),
        ([(0.0, "some"), (0.25, "all")], 0.7),
        ([(0.0, None), (1.15, "all")], 1.6),
        ([(0.0, "some"), (0.25, "more"), (0.55, "all")], 1.0),
    ],
)
def test_it_waits_until_nothing_changes(pictures, end_s):
    graph = Graph(pictures)
    assert graph.settles()
    assert graph.now_s == pytest.approx(end_s)


@pytest.mark.parametrize("pictures", [[(0.0, None)], [(step / 10, str(step)) for step in range(100)]])
def test_it_gives_up_in_the_end(pictures):
    graph = Graph(pictures)
    assert not graph.settles()
    assert graph.now_s == pytest.approx(3.0)
