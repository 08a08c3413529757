"""Names that flags of ``emulator`` accept, such as ``--shell zsh``, for ``--help`` and completion.

They stand apart from the modules that use them, which are slow to import.
"""

from emulator.vendors import VENDORS

MODES = ("typical", "minimal", "boundary", "adversarial", "invalid")
VENDOR_NAMES = tuple(VENDORS)
SHELLS = ("bash", "zsh", "fish", "powershell")
FORMATS = ("sh", "dotenv", "json", "github", "powershell", "cmd")
