"""Where built things go, and how programs are run and installed."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "compat" / "clients"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
BUILT = Path(os.environ.get("COMPAT_CACHE", TARGET / "compat")).resolve()
"""What is fetched and built once for all runs."""
STEP_SECONDS = 300
KAFKA = "4.4.0"
"""The release that results are compared with."""


def run(command, **options):
    """Runs to the end, with output kept; raises when it fails."""
    options.setdefault("timeout", STEP_SECONDS)
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, **options)


def free_port():
    """A port below the range of outgoing connections, so that nothing takes it while the broker is down. Runs beside each other
    are kept apart by COMPAT_FIRST_PORT."""
    first = int(os.environ.get("COMPAT_FIRST_PORT", 21750))
    for port in range(first, first + 240):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit(f"no free port between {first} and {first + 240}")


def apt_install(*packages):
    """Installs Debian packages; the lists are fetched first, since a new machine has none."""
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], timeout=600)


def need_program(program, package):
    """An error text if the program is not there and cannot be installed."""
    if shutil.which(program):
        return None
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return f"{program} is missing: install the package {package}"
    apt_install(package)
    return None


def kafka_libraries(version=KAFKA):
    """The folder with Apache Kafka's jars, fetched by Maven the first time."""
    given = os.environ.get("COMPAT_KAFKA_LIBRARIES")
    if given and version == KAFKA:
        return Path(given)
    name = "kafka-libraries" if version == KAFKA else f"kafka-libraries-{version}"
    return maven_libraries(name, CLIENTS / "java" / "pom.xml", "kafka_2.13-*.jar", version=version)


def maven_libraries(name, pom, *last, only="", version=None):
    """A folder with what a pom names and needs, fetched the first time; `last` are patterns of jars that it has then. `version` is of
    Kafka, where the pom leaves that open."""
    libraries = BUILT / name
    if not all(any(libraries.glob(jar)) for jar in last):
        libraries.mkdir(parents=True, exist_ok=True)
        run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime",
             f"-DincludeArtifactIds={only}", f"-DoutputDirectory={libraries}",
             *([f"-Dversion.of.clients={version}"] if version else [])], timeout=900)
    return libraries


def highwater_binary():
    """The release binary, built unless HIGHWATER_BIN names one."""
    given = os.environ.get("HIGHWATER_BIN")
    if given:
        return Path(given).resolve()
    run(["cargo", "build", "--release", "--locked", "--bin", "highwater"], cwd=ROOT, timeout=1200)
    return TARGET / "release" / "highwater"
