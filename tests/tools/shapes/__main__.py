"""Write the tables of request shapes: ``python -m tests.tools.shapes OPENAPI.json``.

The tables hold facts alone: names, types, accepted values, bounds. OpenAI's come from its OpenAPI description
(openai/openai-openapi, ``openapi.json``), Anthropic's from the parameter types of the installed package ``anthropic``.
Where the service takes more than its description says, ``openai.py`` lists the difference with its source.
"""

import json
import sys
from pathlib import Path

from tests.tools.shapes.anthropic import list_anthropic
from tests.tools.shapes.openai import list_openai

PROTOCOLS = Path(__file__).parents[3] / "emulator" / "protocols"


def write_table(table: dict[str, object], path: Path) -> None:
    """Write one definition a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(shape, separators=(',', ':'))}" for name, shape in sorted(table.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write_table(list_openai(json.loads(Path(sys.argv[1]).read_text())), PROTOCOLS / "openai" / "shapes.json")
    write_table(list_anthropic(), PROTOCOLS / "anthropic" / "shapes.json")
