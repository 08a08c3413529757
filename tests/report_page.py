"""What a page with a run inside holds, read without a browser."""

import json
import zlib
from base64 import b64decode

from emulator.core.json import JSON, Object, as_array, as_object


def _read_script(page: str, name: str) -> str:
    return page.split(f'id="{name}">')[1].split("</script>")[0]


def read_run(page: str) -> Object:
    """All but the details, its calls as objects."""
    run = as_object(json.loads(_read_script(page, "saved")))
    fields = [str(name) for name in as_array(run["fields"])]
    calls: list[JSON] = [dict(zip(fields, as_array(row), strict=True)) for row in as_array(run["calls"])]
    return {**run, "calls": calls}


def read_details(page: str) -> list[str]:
    """The rest of each call, as JSON."""
    blocks = _read_script(page, "details").splitlines()
    return [detail for block in blocks for detail in zlib.decompress(b64decode(block)).decode().split("\n")]
