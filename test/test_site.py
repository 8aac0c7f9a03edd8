"""The documents make a site with valid links that loads nothing from elsewhere, with figures that are small."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOADED = re.compile(r"<(?:script|img|iframe)[^>]* src=\"(https?:[^\"]+)")
STYLES = re.compile(r"<link[^>]* rel=\"stylesheet\"[^>]* href=\"(https?:[^\"]+)")


@pytest.mark.needs("material")
def test_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    documents = [path for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) == len(documents) + 1  # and that for what is not found
    assert {url for page in pages for kind in (LOADED, STYLES) for url in kind.findall(page.read_text())} == set()


def test_every_document_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {name for name in documents if f": {name}\n" not in text} == set()


def test_gallery_has_a_small_figure_for_every_dataset_and_pipeline() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    pages = [path for folder in ("datasets", "fusion") for path in (ROOT / "docs" / folder).glob("*.md")]
    linked = {path.stem for path in pages if f"({path.parent.name}/{path.name})" in gallery}
    assert {path.stem for path in pages} - linked == {"descriptions", "errata", "orchestrator", "own-steps"}
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert {name: size for name, size in sizes.items() if size > 60_000} == {} and sum(sizes.values()) < 1_500_000
    shown = set(re.findall(r"images/([\w-]+\.webp)", gallery))
    assert set(sizes) - shown == {"view.webp"} and shown <= set(sizes)
