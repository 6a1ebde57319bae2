"""The records of an image add up to it."""

from __future__ import annotations

from pathlib import Path

from kafkalite.cluster.image import MetadataImage
from kafkalite.cluster.image_records import records_of
from tests.kafkalite.snapshots import Opened, fill


def test_the_records_of_an_image_add_up_to_it(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    fill(opened.cluster)
    image = MetadataImage()
    image.offset = opened.cluster.image.offset
    for record in records_of(opened.cluster.image):
        image.apply(record)
    # A node's registration in a snapshot says at once what it has become since.
    for one in (image, opened.cluster.image):
        for broker in one.brokers.values():
            broker.registration.fenced = False
    assert vars(image) == vars(opened.cluster.image)
    opened.close()
