"""Names the parser offers, here because what they stand for is slow to import."""

MODES = ("typical", "minimal", "boundary", "adversarial", "invalid")
VENDOR_NAMES = ("databricks", "azure", "mindie", "tgi", "openvino")
SHELLS = ("bash", "zsh", "fish")
