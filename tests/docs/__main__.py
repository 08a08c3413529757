"""Write the language reference anew: ``python -m tests.docs``."""

from tests.docs.reference import FILE, render

FILE.write_text(render(), encoding="utf-8")
