"""kafkalite with a fault planted: it confirms acknowledgements, and does not write them down.

`python -m conformance.queue_proof.forgetful [FLAGS]`
"""

from __future__ import annotations

import sys

from kafkalite.__main__ import main
from kafkalite.coordinators.share_adapter import ShareServices

PLANTED = "write_state"

if __name__ == "__main__":
    assert hasattr(ShareServices, PLANTED)
    setattr(ShareServices, PLANTED, lambda *given: None)
    sys.exit(main(sys.argv[1:]))
