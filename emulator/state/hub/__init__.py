"""What workers of one machine tell one another, through the process that started them; each counts alone."""

from emulator.state.hub.client import open_hub
from emulator.state.hub.folder import HUB, hub_folder
from emulator.state.hub.server import serve_hub

__all__ = ["HUB", "hub_folder", "open_hub", "serve_hub"]
