"""Brokers of older releases, started from their own jars, beside kafkalite that looks like them:
`python -m conformance.releases.running [RELEASE...]` compares their answers to ApiVersions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.jars import resolve
from conformance.harness.raw import RawConnection
from conformance.releases.derive import PATCHES
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

RELEASES: Final = ("3.9", "4.0", "4.1", "4.2")
_VERSION: Final = 3


class OlderKafka(ApacheKafka):
    """A broker of another release."""

    def __init__(self, directory: Path, patch: str) -> None:
        """Raises JarsMissing, JavaMissing."""
        names = (f"org.apache.kafka:kafka_2.13:{patch}", "org.slf4j:slf4j-simple:1.7.36")
        self.jars = resolve(f"kafka-{patch}", names)
        super().__init__(directory)


def api_versions(bootstrap: str) -> Any:
    """A broker's answer to ApiVersions."""
    body = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    chunks = encode_request(ApiKey.API_VERSIONS, _VERSION, 1, "c", body)
    frame = b"".join(bytes(each) for each in chunks)
    with RawConnection(bootstrap, seconds=60) as connection:
        return decode_response(ApiKey.API_VERSIONS, _VERSION, connection.ask(frame[4:]))[1]


def differences(ours: Any, theirs: Any) -> Iterator[str]:
    """Says in which fields the answers differ. Lowest versions are Kafka 4's here."""
    of_ours, of_theirs = (
        {each.api_key: each for each in answer.api_keys} for answer in (ours, theirs)
    )
    for key in sorted(of_ours.keys() | of_theirs.keys()):
        one, other = of_ours.get(key), of_theirs.get(key)
        if one is None or other is None:
            yield f"{ApiKey(key).name}: only in {'theirs' if one is None else 'ours'}"
        elif one.max_version != other.max_version or one.min_version < other.min_version:
            versions = [f"{each.min_version}-{each.max_version}" for each in (one, other)]
            yield f"{ApiKey(key).name}: {' and '.join(versions)}"
    supported = (
        {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
        for answer in (ours, theirs)
    )
    finalized = (
        {each.name: (0, each.max_version_level) for each in answer.finalized_features}
        for answer in (ours, theirs)
    )
    for kind, (one, other) in (("supported", supported), ("finalized", finalized)):
        for name in sorted(one.keys() | other.keys()):
            mine, its = one.get(name), other.get(name)
            if mine is None or its is None or mine[1] != its[1] or mine[0] < its[0]:
                yield f"{kind} {name}: {mine} and {its}"


def main(releases: list[str]) -> int:
    """Print the differences, ours first; how many they are."""
    count = 0
    for release in releases or RELEASES:
        with TemporaryDirectory() as directory:
            older = OlderKafka(Path(directory), PATCHES[release])
            try:
                theirs = api_versions(older.bootstrap)
            finally:
                older.stop()
        with broker({"kafkalite.as.version": release}) as looks_like_it:
            found = list(differences(api_versions(looks_like_it.bootstrap), theirs))
        print(
            f"{release}: {len(theirs.api_keys)} APIs, {len(found)} differences", *found, sep="\n  "
        )
        count += len(found)
    return count


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
