"""The process that started the workers keeps what they tell one another, and answers them on a local socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from emulator.core.commons import Posted
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_object, as_text, dump_json, parse_json
from emulator.state.hub.board import Board

LONGEST = 2**30  # bytes of one line


@asynccontextmanager
async def serve_hub(path: Path) -> AsyncIterator[None]:
    """Meanwhile workers find it at a path, and one that hangs up lives no more."""
    board = Board()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _Guest(board, writer).serve(reader)

    server = await asyncio.start_unix_server(serve, path, limit=LONGEST)
    try:
        yield
    finally:
        server.close()


class _Guest:
    """One worker; its first line says its name, each of the others is a verb with what it takes."""

    def __init__(self, board: Board, writer: asyncio.StreamWriter) -> None:
        self._board = board
        self._writer = writer
        self._name = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Answer until it hangs up."""
        try:
            while line := await reader.readline():
                task = asyncio.create_task(self._answer(as_object(parse_json(line))))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (ConnectionError, ValueError):
            pass
        finally:
            for task in self._tasks:
                task.cancel()
            await self._board.leave(self._name)
            self._writer.close()

    async def _answer(self, question: Object) -> None:
        result = await self._do(as_text(question["verb"]), as_array(question["takes"]))
        with suppress(ConnectionError):
            self._writer.write(dump_json({"n": question["n"], "gives": result}) + b"\n")
            await self._writer.drain()

    async def _do(self, verb: str, takes: list[JSON]) -> JSON:
        match verb, takes:
            case "enter", [name]:
                self._name = as_text(name)
                birth, worlds = self._board.enter(self._name)
                return [birth, {session: [world.version, world.document] for session, world in worlds.items()}]
            case "append" | "read" | "clear", _:
                return self._look_after(verb, takes)
        return await self._pass_on(verb, takes)

    async def _pass_on(self, verb: str, takes: list[JSON]) -> JSON:
        """Changes, and what becomes of them."""
        board = self._board
        match verb, takes:
            case "post", [change]:
                return _show(board.post(change))
            case "change", [session, change, document, before]:
                posted = board.change(as_text(session), change, document, as_integer(before))
                return None if posted is None else _show(posted)
            case "hear", []:
                return [*await board.hear(self._name)]
            case "reply", [number, reply]:
                await board.reply(self._name, as_integer(number), reply)
                return None
            case "collect", [number, replicas, silent, patience]:
                names, others = ([as_text(name) for name in as_array(each)] for each in (replicas, silent))
                return {**await board.collect(as_integer(number), names, others, as_number(patience))}
        raise ValueError(verb)

    def _look_after(self, verb: str, takes: list[JSON]) -> JSON:
        """Journals."""
        match verb, takes:
            case "append", [session, entries, most]:
                texts = [as_text(entry) for entry in as_array(entries)]
                return self._board.append(as_text(session), texts, as_integer(most))
            case "read", [after]:
                return [[*call] for call in self._board.read(as_integer(after))]
            case "clear", [session, until]:
                name = None if session is None else as_text(session)
                self._board.clear(name, None if until is None else as_integer(until))
                return None
        raise ValueError(verb)


def _show(posted: Posted) -> JSON:
    return [posted.number, sorted(posted.replicas)]
