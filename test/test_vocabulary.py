"""Messages, help, notes and documents use the words of the field, not private ones for them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PRIVATE = re.compile(
    r"\b(told|tells?|telling|heard|hears?|judged?|aloud|outlets?|begun|beginning|laid upon|made up for|whence|"
    r"pictures?|at the begin|from the begin)\b",
    re.IGNORECASE,
)
# A parameter's value, the name of a random stream, and what CDFF calls its ports' data.
EXCEPTIONS = {"pictures=calibration", "picture {} {}"}


def texts_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts in a module that people may read, with their lines: no docstrings; fields of f-strings as {}."""
    passed = {
        id(part)
        for node in ast.walk(tree)
        for part in (
            [node.value] if isinstance(node, ast.Expr) else node.values if isinstance(node, ast.JoinedStr) else ()
        )
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.lineno, node.value


def private_words(path: Path) -> list[str]:
    texts = texts_of(ast.parse(path.read_text()))
    return [
        f"{path.relative_to(ROOT)}:{line}: {text[:100]}"
        for line, text in texts
        if " " in text and PRIVATE.search(re.sub("|".join(map(re.escape, EXCEPTIONS)), "", text))
    ]


def test_private_word_is_found_in_messages_and_not_in_docstrings() -> None:
    text = '''def f(name):\n    """Hears."""\n    return f"{name} is told", "tells", "is read"\n'''
    assert [text for _, text in texts_of(ast.parse(text))] == ["{} is told", "tells", "is read"]
    assert [bool(PRIVATE.search(text)) for text in ("{} is told", "it is read")] == [True, False]


def test_messages_have_no_private_words() -> None:
    modules = [
        path
        for package in sorted(ROOT.glob("src/*/package.xml"))
        if package.parent.name != "fieldplay_testing"
        for path in sorted((package.parent / package.parent.name).rglob("*.py"))
    ]
    assert len(modules) > 300
    assert [line for path in modules for line in private_words(path)] == []


PACKAGES = ("fieldplay", "fieldplay_samples", "fieldplay_ros", "fieldplay_bringup", "fieldplay_cdff")
TEXT_KEYS = {"doc", "note", "about", "help", "title", "description"}
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def test_documents_have_no_private_words() -> None:
    documents = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    assert len(documents) > 30
    prose = {
        path: CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), path.read_text("utf-8")) for path in documents
    }
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path, text in prose.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if PRIVATE.search(line)
    ]
    assert lines == []


def explanations(text: str) -> Iterator[tuple[int, str]]:
    """The lines of docstrings and comments of a module, with their numbers."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            end = node.body[0].end_lineno or node.body[0].lineno
            yield from ((number, lines[number - 1]) for number in range(node.body[0].lineno, end + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_docstrings_and_comments_have_no_private_words() -> None:
    modules = [path for package in PACKAGES for path in sorted((ROOT / "src" / package / package).rglob("*.py"))]
    assert len(modules) > 400
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in modules
        for number, line in explanations(path.read_text("utf-8"))
        if PRIVATE.search(CODE.sub("", line))
    ]
    assert lines == []


def texts_of_yaml(text: str) -> Iterator[tuple[int, str]]:
    """The comments and the values of TEXT_KEYS in a YAML or JSON file, with their lines."""
    quoted: set[int] = set()  # offsets within scalars, where # starts no comment
    for token in yaml.scan(text, yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken):
            quoted.update(range(token.start_mark.index, token.end_mark.index))
    for match in re.finditer(r"(?:^|(?<=\s))#.*", text, re.MULTILINE):
        if match.start() not in quoted:
            yield text.count("\n", 0, match.start()) + 1, match[0]
    nodes = [yaml.compose(text, yaml.SafeLoader)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                nodes.append(value)
                if key.value in TEXT_KEYS and isinstance(value, yaml.ScalarNode):
                    yield value.start_mark.line + 1, value.value


def test_comments_and_descriptions_are_read_from_yaml() -> None:
    text = "# first\nkey: told  # second\nport: [{name: picture, doc: 'its #1'}]\n"
    assert sorted(texts_of_yaml(text)) == [(1, "# first"), (2, "# second"), (3, "its #1")]


def test_yaml_files_have_no_private_words() -> None:
    files = [
        path
        for package in PACKAGES
        for path in sorted((ROOT / "src" / package / package).rglob("*"))
        if path.suffix in (".yaml", ".json") and not path.is_symlink()
    ]
    assert {"Reconstruction3D.yaml", "schema.json", "dfns.yaml", "sherpatt.yaml"} <= {path.name for path in files}
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {text}"
        for path in files
        for number, text in texts_of_yaml(path.read_text("utf-8"))
        if PRIVATE.search(CODE.sub("", text))
    ]
    assert lines == []
