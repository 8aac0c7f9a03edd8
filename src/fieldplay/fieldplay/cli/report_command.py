"""The command `fieldplay report`: a page about an archive or a bag."""

import argparse
from pathlib import Path

from fieldplay.cli.arguments import add_archive, add_jobs, open_recording
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import print_line, progress_bar
from fieldplay.core.errors import pluralize
from fieldplay.core.number_text import size_text
from fieldplay.report.page import require_libraries, require_output, write_page
from fieldplay.report.report_page import page_of

EPILOG = """\
example:
  fieldplay report etna.zip etna.html
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE and OUT."""
    add_archive(parser)
    parser.add_argument("out", metavar="OUT", type=Path, help="the page, a file that ends in .html")
    with parser.section("output"):
        add_jobs(parser)


def run(chosen: argparse.Namespace) -> int:
    """A page about an archive or a bag; defects are listed in it, and do not fail the command."""
    require_output(chosen.archive, chosen.out)
    require_libraries()
    with open_recording(chosen) as recording:
        source = recording.with_derived()
        with progress_bar("reading", "messages") as bar:
            page = page_of(source, bar)
        size = write_page(chosen.out, page)
        problems = source.issues.total
    text = f"{problems} problem{'' if problems == 1 else 's'}" if problems else "no problems"
    print_line(f"{chosen.out}: {pluralize(len(source.typed_topics), 'topic')}, {text}, {size_text(size)}")
    return 0
