"""`make vendor`: renew the libraries of the page, taken unchanged from their npm packages.

vendor.json names package, version, licence, file and hash of each. Only MIT and Apache-2.0 are
taken.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parent.parent.parent / "kafkalite" / "ui" / "page" / "vendor"
LIST = VENDOR / "vendor.json"
# The files that are taken of each package, and their names here.
TAKEN = {
    "preact": {
        "dist/preact.mjs": "preact.mjs",
        "hooks/dist/hooks.mjs": "hooks.mjs",
        "LICENSE": "preact.LICENSE",
    },
    "htm": {"dist/htm.module.js": "htm.module.js", "LICENSE": "htm.LICENSE"},
    "uplot": {
        "dist/uPlot.esm.js": "uPlot.esm.js",
        "dist/uPlot.min.css": "uPlot.min.css",
        "LICENSE": "uplot.LICENSE",
    },
}
LICENCES = {"MIT", "Apache-2.0"}


def packed(package: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The package.json of an npm package ("name" or "name@version"), and its files."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", package, "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            files = {
                member.name.removeprefix("package/"): data.read()
                for member in tar
                if (data := tar.extractfile(member)) is not None
            }
    return json.loads(files["package.json"]), files


def main() -> int:
    listed: dict[str, Any] = {}
    for package, wanted in TAKEN.items():
        about, files = packed(f"{package}@latest")
        if about["license"] not in LICENCES:
            print(f"{package} {about['version']} is under {about['license']}", file=sys.stderr)
            return 1
        for source, name in wanted.items():
            (VENDOR / name).write_bytes(files[source])
        listed[package] = {
            "version": about["version"],
            "license": about["license"],
            "files": {
                name: {"from": source, "sha256": hashlib.sha256(files[source]).hexdigest()}
                for source, name in wanted.items()
            },
        }
    LIST.write_text(json.dumps(listed, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
