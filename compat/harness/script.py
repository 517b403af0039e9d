"""What the scripts of compat have in common: what they say while they run and in the end."""

import shutil
import subprocess
import sys


def progress(text):
    print(f"-- {text}", file=sys.stderr, flush=True)


def table(rows):
    """Rows of texts as lines, in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def leave(work, keep):
    """Removes the data directory, or says where it is."""
    if keep:
        print(f"data and logs: {work}")
    else:
        shutil.rmtree(work)


def end(main):
    """Ends with the code of `main`, or with what a program said that could not be run."""
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{(error.stderr or b'').decode(errors='replace')[-2000:]}")
