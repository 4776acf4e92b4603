"""What the texts of the tree point to exists: links, headings, documents that are named; and the glossary is in order."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CITED = re.compile(r"(?<![\w*{/.-])((?:\.{0,2}[\w-]+/|\.\./)*[\w-]+(?:\.[\w-]+)*\.md)\b")
_CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _slugs(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _CODE_BLOCK.sub("", _text(document)), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _files() -> list[Path]:
    """All that git tracks or would track, and that is still there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_every_relative_link_points_to_a_file_and_a_heading_that_exist() -> None:
    broken = []
    for document in DOCUMENTS:
        for link in _LINK.findall(_CODE_BLOCK.sub("", _text(document))):
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            if "://" in link:
                continue
            if not target.is_relative_to(ROOT) or not target.exists() or (anchor and anchor not in _slugs(target)):
                broken.append(f"{document.relative_to(ROOT)}: {link}")
    assert broken == []


def _missing(file: Path, text: str, names: set[str]) -> Iterator[str]:
    """A bare name is good if any file of the tree has it; a path is seen from the root, the file, or the page it makes."""
    for cited in _CITED.findall(text):
        places = (ROOT / cited, file.parent / cited, ROOT / "docs" / "reference" / cited)
        if cited not in names and not any(place.exists() for place in places):
            yield f"{file.relative_to(ROOT)}: {cited}"


def test_no_text_cites_a_document_that_is_not_in_the_tree() -> None:
    files = _files()
    names = {path.name for path in files}
    missing: list[str] = []
    for file in files:
        try:
            missing += _missing(file, _text(file), names)
        except UnicodeDecodeError:
            continue
    assert missing == []


def test_the_glossary_is_sorted_and_each_word_is_one_line() -> None:
    lines = _text(ROOT / "docs" / "glossary.md").splitlines()
    rows = lines[lines.index("|---|---|") + 1 :]
    assert all(re.fullmatch(r"\| [^|]+ \| [^|]+ \|", row) for row in rows), "a line that is not | word | meaning |"
    words = [row.split("|")[1].strip() for row in rows]
    assert words == sorted(set(words), key=str.lower)


def test_every_page_of_the_docs_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(_text(index))}
    pages = {path for path in DOCUMENTS if path.is_relative_to(index.parent)}
    assert pages - linked == {index}


def test_every_source_file_that_the_docs_name_exists() -> None:
    named = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
    for document in (ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for name in named.findall(document.read_text(encoding="utf-8")):
            assert (ROOT / name).exists() or (ROOT / "src" / "anabranch" / name).exists(), f"{document.name} names {name}"
