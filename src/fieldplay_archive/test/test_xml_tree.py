import pytest

from fieldplay_archive.formats.pds4 import DEEPEST, LARGEST, tree_from_xml
from fieldplay_messages.errors import ArchiveError


def test_elements_are_found_by_their_names_without_namespace_in_the_order_of_the_file() -> None:
    root = tree_from_xml(b'<a xmlns="urn:x" xmlns:m="urn:y"><b>1</b><m:c><b> 2 &amp; &#65;</b></m:c><!-- no --></a>')
    assert root.name == "a"
    assert [element.text for element in root.all("b")] == ["1", " 2 & A"]
    assert (root.value("c"), root.value("nothing")) == ("", "")
    assert root.first("nothing") is None


def test_an_element_knows_its_line() -> None:
    found = tree_from_xml(b"<a>\n\n<b/>\n</a>").first("b")
    assert found is not None and found.line == 3


@pytest.mark.parametrize(
    "doctype",
    [
        b"<!DOCTYPE a>",
        b'<!DOCTYPE a [<!ENTITY x "y">]>',
        b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd">',
    ],
)
def test_a_document_type_is_refused(doctype: bytes) -> None:
    with pytest.raises(ArchiveError, match="line 2: expected no DOCTYPE"):
        tree_from_xml(b'<?xml version="1.0"?>\n' + doctype + b"<a/>")


def test_a_billion_laughs_end_before_the_first() -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(30))
    with pytest.raises(ArchiveError, match="expected no DOCTYPE"):
        tree_from_xml(f"<!DOCTYPE a [{entities}]><a>&e29;</a>".encode())


@pytest.mark.parametrize(
    "data", [b"", b"text", b"<a>", b"<a></b>", b"<a>&x;</a>", b"<a/><b/>", b"\x00", b"<a>\xff\xfe</a"]
)
def test_what_is_no_xml_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError, match="expected XML"):
        tree_from_xml(data)


def test_what_is_too_deep_or_too_large_is_refused() -> None:
    with pytest.raises(ArchiveError, match="elements in each other"):
        tree_from_xml(b"<a>" * (DEEPEST + 1))
    with pytest.raises(ArchiveError, match="at most"):
        tree_from_xml(b" " * (LARGEST + 1))


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16", "us-ascii"])
def test_documents_may_have_other_encodings(encoding: str) -> None:
    text = "°" if encoding != "us-ascii" else "o"
    data = f'<?xml version="1.0" encoding="{encoding}"?><a>{text}</a>'.encode(encoding)
    assert tree_from_xml(data).text == text


def test_latin_1_under_a_false_name_is_read_as_such() -> None:
    assert tree_from_xml('<?xml version="1.0" encoding="UTF-8"?><a>20 °C</a>'.encode("latin-1")).text == "20 °C"
    assert tree_from_xml(b"<a>\xb0</a>").text == "°"


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ArchiveError, match="expected XML"):
        tree_from_xml(b'<?xml version="1.0" encoding="x-none"?><a/>')
