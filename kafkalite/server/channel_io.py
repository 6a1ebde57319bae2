"""Moves bytes between a transport and a channel, and logs why a connection ends."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from kafkalite.log.log_state import ERRORS_OF_A_FILE, PASSING_ERRORS
from kafkalite.log.loggers import logger_of
from kafkalite.requests.context import CloseConnection
from kafkalite.server.channel import Channel, ChannelEvent, ChannelState
from kafkalite.server.frame_reader import RECEIVE_BYTES
from kafkalite.server.sendfile import send_at_once
from kafkalite.wire.errors import ProtocolViolation

if TYPE_CHECKING:
    from kafkalite.server.transport import Transport

logger = logger_of(__name__)

# Errors of a file or of this machine, such as a disk that fails while it is read for a response.
# Any other error of a connection is the network's, or the client's.
_ERRORS_HERE: Final = (
    PASSING_ERRORS
    | ERRORS_OF_A_FILE
    | {errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENODEV, errno.ESTALE}
)


def _is_from_here(error: OSError) -> bool:
    # The numbers of TLS errors are OpenSSL's own.
    return error.errno in _ERRORS_HERE and type(error).__module__ != "ssl"


def receive(transport: Transport, channel: Channel) -> None:
    """Receive what there is, once. Raises OSError, ProtocolViolation."""
    reader = channel.reader
    room = reader.room()
    try:
        if room is not None:
            count = transport.recv_into(room)
            reader.filled(count)
        else:
            data = transport.recv(RECEIVE_BYTES)
            count = len(data)
            reader.feed(data)
    except (BlockingIOError, InterruptedError):
        return
    if count == 0:
        if reader.has_input:
            raise ProtocolViolation("the client hung up in the middle of a frame")
        channel.is_ending = True


def flush(transport: Transport, channel: Channel) -> bool:
    """Send the output; True if all is sent. Otherwise the state says what the rest waits for.

    Raises OSError.
    """
    output = channel.output
    is_cached = True
    if len(output) == 1 and type(output[0]) is bytes:  # nearly always
        data = output[0]
        try:
            count = transport.send(data, 0)
        except (BlockingIOError, InterruptedError):
            count = 0
        if count == len(data):
            output.clear()
        else:
            output[0] = memoryview(data)[count:]
    elif output or transport.has_output:
        is_cached = send_at_once(transport, output)
    if not output and not transport.has_output:
        if channel.state is ChannelState.WRITING:
            channel.happened(ChannelEvent.SENT)
        return True
    if channel.state is not ChannelState.IN_TASK:  # the task sends first of all
        channel.happened(ChannelEvent.BLOCK if is_cached else ChannelEvent.MOVE_TO_TASK)
    return False


def log_end(name: str, error: Exception) -> None:
    """Say in one line of the log why a connection ends."""
    if isinstance(error, ProtocolViolation):
        # The place in a message, if it was in a message.
        reason = error if error.position else error.reason
        logger.warning("%s: connection closed: %s", name, reason)
    elif isinstance(error, CloseConnection):
        if not error.is_told:
            logger.info("%s: connection closed: %s", name, error)
    elif isinstance(error, OSError) and _is_from_here(error):
        logger.warning("%s: connection closed: %s", name, error)
    elif isinstance(error, OSError):
        logger.debug("%s: connection lost: %s", name, error)
    else:
        logger.error("%s: connection closed: a request could not be answered", name, exc_info=error)
