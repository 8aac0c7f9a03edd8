"""What is told of names that were meant ill steers nothing."""

import pytest

from fieldplay.core.errors import Defect, escape_control_chars


@pytest.mark.parametrize("char", ["\x1b", "\x07", "\r", "\n", "\0", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_defect_text_is_one_line_without_control_characters(char: str) -> None:
    defect = Defect(file=f"a{char}[2Jb.csv", kind="gap", message=f"no{char}row", row=3)
    assert str(defect) == "a\ufffd[2Jb.csv:3: no\ufffdrow"
    assert (defect.file, defect.message) == (f"a{char}[2Jb.csv", f"no{char}row")  # for programs, as they are
    assert escape_control_chars(f"°{char}é", allowed=char) == f"°{char}é"
