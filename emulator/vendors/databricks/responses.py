"""Later."""

from typing import Any

from emulator.core.call import Call
from emulator.core.vendor import Service, WireRequest
from emulator.vendors.databricks.wire import Query


def parse_responses(request: WireRequest, service: Service[Any]) -> Call:
    raise NotImplementedError


def read_responses(query: Query) -> Call:
    raise NotImplementedError
