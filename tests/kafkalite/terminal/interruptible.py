"""The command as a process that Ctrl-C ends."""

import sys

# Processes in the background of a shell ignore SIGINT, and so would a test's, were it run there.
INTERRUPTIBLE = ("env", "--default-signal=INT", sys.executable, "-m", "kafkalite")
