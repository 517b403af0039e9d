"""Reports in JUnit's XML, as many test runners write them."""

import xml.etree.ElementTree as tree

from .results import Row


def rows(file):
    for case in tree.parse(file).iter("testcase"):
        kinds = {child.tag: child for child in case}
        broken = kinds.get("failure", kinds.get("error"))
        result = "fail" if broken is not None else "skip" if "skipped" in kinds else "pass"
        said = "" if broken is None else " ".join(str(broken.get("message") or broken.text or "").split())[:200]
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        yield Row(" ".join(name.split()), result, float(case.get("time") or 0), said)
