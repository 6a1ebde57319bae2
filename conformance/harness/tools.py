"""Apache Kafka's own command line tools, against any broker."""

import subprocess

from conformance.harness.apache_kafka import java_command
from conformance.harness.jars import kafka_jars, kafka_shell_jars
from conformance.harness.main_classes import ADMINISTRATIVE, MAIN_CLASSES
from conformance.harness.process import dying_with_parent
from conformance.harness.shared_tools import run_shared
from conformance.harness.tool_process import Ran

__all__ = ["Ran", "run_tool"]

SECONDS = 60.0

# Tools that are in none of the broker's jars.
JARS = {"kafka-metadata-shell": kafka_shell_jars}


def run_tool(tool: str, *arguments: str, given: str = "", seconds: float = SECONDS) -> Ran:
    """Run to its end with `given` on its standard input; raises subprocess.TimeoutExpired.

    Those of administrators run in one JVM for all, unless something is given to them.
    """
    if tool in ADMINISTRATIVE and not given:
        return run_shared(tool, *arguments, seconds=seconds)
    answer = subprocess.run(
        dying_with_parent(
            java_command(MAIN_CLASSES[tool], *arguments, jars=JARS.get(tool, kafka_jars)())
        ),
        check=False,
        input=given,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    return Ran(answer.returncode, answer.stdout, answer.stderr)
