"""Builds that begin with an empty folder: what is left in build/ from an older tree is not packed.

Everything else about the package stands in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class FreshBuild(build_py):
    """setuptools copies over what an earlier build left, and packs all that lies there."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib) / "kafkalite", ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": FreshBuild})
