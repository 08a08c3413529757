"""Write the generated pages anew: ``python -m tests.tools.docs``."""

from tests.tools.docs import bounds, control, included, metrics
from tests.tools.docs.reference import FILE, render

FILE.write_text(render(), encoding="utf-8")
FILE.with_name("bounds.md").write_text(bounds.render(), encoding="utf-8")
FILE.with_name("control.md").write_text(control.render(), encoding="utf-8")
FILE.with_name("metrics.md").write_text(metrics.render(), encoding="utf-8")
for page in included.PAGES:
    page.write_text(included.render(page), encoding="utf-8")
