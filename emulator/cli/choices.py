"""Names that flags offer as choices; apart from the modules that define them, which are slow to import."""

from emulator.vendors import VENDORS

MODES = ("typical", "minimal", "boundary", "adversarial", "invalid")
VENDOR_NAMES = tuple(VENDORS)
SHELLS = ("bash", "zsh", "fish", "powershell")
FORMATS = ("sh", "dotenv", "json", "github", "powershell", "cmd")
