"""Archives for the tests of the workspace."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fieldplay_samples.write_sample import SampleOptions
from fieldplay_testing.tiny_ameds import IMAGES_PER_CAMERA, TinyAmeds
from support.browser import BROWSERS, MISSING, Browser
from support.sampled import Sampled, sampled

pytest.register_assert_rewrite("support.launched_tests")  # so that its assertions tell what differs


@pytest.fixture(scope="session")
def write_ameds() -> Callable[[Path], TinyAmeds]:
    """Writes the archive into a folder that is not there yet."""

    def write(root: Path) -> TinyAmeds:
        archive = TinyAmeds(root)
        archive.write_all()
        return archive

    return write


@pytest.fixture
def tiny_ameds(write_ameds: Callable[[Path], TinyAmeds], tmp_path: Path) -> TinyAmeds:
    return write_ameds(tmp_path / "AMEDS" / "Traverse_5")


@pytest.fixture(scope="session")
def few_images(write_ameds: Callable[[Path], TinyAmeds], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive with a few pictures only, which no test changes."""
    root = write_ameds(tmp_path_factory.mktemp("whole") / "AMEDS" / "Traverse_5").root
    for camera in ("MainCam", "AuxCam", "MainAuxCamProjected"):
        for path in sorted(root.glob(f"{camera}_*.jpg"))[IMAGES_PER_CAMERA:]:
            path.unlink()
    return root.parent


@pytest.fixture(scope="session")
def sampled_ameds(pytestconfig: pytest.Config) -> Sampled:
    """Some seconds of AMEDS from the sample world, with few pictures, as these take longest to make."""
    folder = pytestconfig.cache.mkdir("samples")
    return sampled("ameds", folder, SampleOptions(seconds=20, seed=1, settings={"image_rate_hz": 1.0}))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.fail(MISSING)
    opened = Browser(program, tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()
