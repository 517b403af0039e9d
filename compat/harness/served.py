"""What Highwater serves, by the table that is generated of its sources: docs/apis.md."""

from .tools import ROOT


def served():
    """By API key: the name and the versions."""
    found = {}
    for line in (ROOT / "docs" / "apis.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 3 and cells[0].isdigit():
            first, last = map(int, cells[2].split("-"))
            found[int(cells[0])] = (cells[1], range(first, last + 1))
    return found
