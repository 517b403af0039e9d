"""kafka-python's own integration tests, from its source package."""

import os
import subprocess
import sys

from .. import junit_xml
from ..results import Row
from ..suite import Suite
from ..tools import BUILT, run
from .profile import PROFILE

VERSION = "3.0.12"
NEEDS = ["pytest", "pytest-mock", "pytest-timeout", "py", "lz4", "zstandard", "python-snappy", "crc32c", "xxhash"]

SERVICE = '''class ExternalService:
    """A broker that runs already."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def stop(self):
        pass

    def close(self):
        pass


class SpawnedService:
    def __init__(self, *arguments, **options):
        raise RuntimeError("no broker is started here")
'''
"""The package lacks this module of its tests."""


class KafkaPython(Suite):
    name = "kafka-python"
    about = f"kafka-python {VERSION}'s own integration tests"
    settings = PROFILE
    quick = True

    def prepare(self, lab):
        home = BUILT / "kafka-python"
        self.source, self.python = home / f"kafka_python-{VERSION}", home / "venv" / "bin" / "python"
        if (home / "ready").exists():
            return
        home.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "venv", home / "venv"])
        run([self.python, "-m", "pip", "install", "-q", *NEEDS], timeout=600)
        run([self.python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", f"kafka-python=={VERSION}"], cwd=home,
            timeout=600)
        run(["tar", "xzf", home / f"kafka_python-{VERSION}.tar.gz"], cwd=home)
        (self.source / "test" / "__init__.py").touch()
        (self.source / "test" / "service.py").write_text(SERVICE)
        (home / "ready").touch()

    def run(self, lab):
        report = lab.work / "report.xml"
        environment = {**os.environ, "KAFKA_ROOT": str(self.source), "KAFKA_VERSION": "4.3.0",
                       "KAFKA_URI": f"kafka://{lab.server.address}"}
        with open(lab.work / "pytest.log", "wb") as log:
            subprocess.run([self.python, "-m", "pytest", "test/integration", "-q", "-o", "addopts=", "--timeout=60",
                            "--timeout-method=signal", "-p", "no:cacheprovider", f"--junitxml={report}",
                            *(["-k", lab.options.only] if lab.options.only else [])],
                           cwd=self.source, env=environment, stdout=log, stderr=log, timeout=1800)
        for row in junit_xml.rows(report) if report.exists() else [Row("all", "fail", 0, "no report; see pytest.log")]:
            yield row
