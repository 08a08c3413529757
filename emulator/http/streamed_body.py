"""Read the body of a request as it arrives."""

from collections.abc import AsyncIterator

from emulator.http.connection import IncomingRequest


async def stream_body(http: IncomingRequest) -> AsyncIterator[bytes]:
    """Yield the body as it arrives; while its reader is busy, no more is taken from the client.

    It takes the place of :meth:`IncomingRequest.read`.
    """
    arrival = http.open_parts()
    is_last = False
    while not is_last:
        arrival.clear()
        data, is_last = http.read_part()
        if data:
            with http.connection.reading_paused():
                yield data
        if not is_last:
            await arrival.wait()
