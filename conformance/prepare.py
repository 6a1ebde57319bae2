"""`python -m conformance.prepare`: bring what the tests need from outside, or say what to install.

Java is needed (the console tools, Spark). KafkaJS, axe-core, kcat, Chromium and tshark are brought
where npm is, and where apt may be used; their tests say so when they are left out.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from conformance.harness.cache import cache_directory, locked
from conformance.harness.class_training import make_archives
from conformance.harness.jars import JarsMissing, kafka_jars, kafka_shell_jars
from conformance.harness.java import JavaMissing, find_java, install_java

HERE = Path(__file__).parent


def prepare_java() -> None:
    try:
        find_java()
    except JavaMissing:
        install_java()
    kafka_jars()
    kafka_shell_jars()
    make_archives()


def prepare_node_modules() -> None:
    npm = shutil.which("npm")
    there = [HERE / "node_modules" / name for name in ("kafkajs", "axe-core")]
    if npm and not all(each.is_dir() for each in there):
        subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], check=False, cwd=HERE)


def prepare_package(name: str) -> None:
    if shutil.which(name) or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", name]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, check=False, env=environment)


def main() -> int:
    try:
        with locked(cache_directory() / "prepare.lock"):
            prepare_node_modules()
            prepare_package("kcat")
            prepare_package("chromium")
            prepare_package("tshark")
            prepare_java()
    except (JavaMissing, JarsMissing) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
