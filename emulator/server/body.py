"""The body of a request, up to what its vendor takes."""

from aiohttp import web

from emulator.core.errors import EmulatedError, ErrorKind


async def read_body(http: web.BaseRequest, limit: int) -> bytes:
    """The request body; past ``limit`` bytes the rest is left unread.

    Raises:
        EmulatedError: ``PAYLOAD_TOO_LARGE``.
    """
    if not http.body_exists:
        return b""
    too_large = EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})
    if (http.content_length or 0) > limit:
        raise too_large
    if http.headers.get("Expect", "").lower() == "100-continue" and http.transport is not None:
        http.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    first = await http.content.readany()
    if http.content.at_eof():
        return first
    chunks = [first]
    size = len(first)
    while chunk := await http.content.readany():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise too_large
    return b"".join(chunks)
