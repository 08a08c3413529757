"""Fault ``wrong_content_type``: the right body under a wrong ``Content-Type``."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from emulator.core.faultable import FaultableResponse
from emulator.faults.base import Fault


class WrongContentType(Fault):
    """Send the right body under another ``Content-Type``, as some proxies do."""

    type: Literal["wrong_content_type"]
    value: Annotated[str, Field(pattern=r"^[\x20-\x7e]+$")] = Field(
        default="text/html; charset=utf-8", description="The content type to send.", examples=["text/plain"]
    )

    def apply(self, response: FaultableResponse) -> FaultableResponse:
        name = next((key for key, _ in response.headers if key.lower() == "content-type"), "Content-Type")
        kept = [(key, self.value if key == name else value) for key, value in response.headers]
        if not any(key == name for key, _ in kept):
            kept.append((name, self.value))
        return replace(response, headers=tuple(kept))
