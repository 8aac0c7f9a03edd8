"""What the commands write."""

import pytest

from fieldplay.cli import terminal


def test_control_characters_are_escaped_except_newline_and_tab(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_line("a\tb\nc \x1b[31md\r\x9b2Je")
    terminal.note("\x1b]0;title\x07")
    out, err = capsys.readouterr()
    assert out == "a\tb\nc \ufffd[31md\ufffd\ufffd2Je\n"
    assert err == "fieldplay: \ufffd]0;title\ufffd\n"
