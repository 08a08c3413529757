"""Answers that are sent as they are made: whole they would take more room than all that they tell of."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp import web

_LARGE = 256 * 1024  # bytes of one write; an answer of no more is sent whole


async def send_pieces(http: web.BaseRequest, pieces: AsyncIterator[str], media: str) -> web.StreamResponse:
    """All pieces, many in one write; the next are made once the client has read enough of those before."""
    headers = {"Content-Type": media}
    response: web.StreamResponse | None = None
    held = bytearray()
    async for piece in pieces:
        held += piece.encode()
        if len(held) < _LARGE:
            continue
        if response is None:
            response = web.StreamResponse(headers=headers)
            await response.prepare(http)
        if http.method == "HEAD":
            return response
        await response.write(bytes(held))
        held.clear()
    if response is None:
        return web.Response(body=bytes(held), headers=headers)
    await response.write(bytes(held))
    return response
