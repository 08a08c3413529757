"""What is made ready in the background once a server listens, so that few answers have to wait for it."""

import gc
import sys
import threading
import time
from collections.abc import Iterable

from emulator.core.vendor import Vendors
from emulator.engine.vocabulary import load_vocabulary
from emulator.server.process.garbage import return_memory

_CALM = 0.3  # seconds: who starts a server often asks it at once, and that answer should have the processor
_YIELD = 0.0002  # seconds after which an answer may go first


def warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    """Import the vendors that are served, and read the vocabulary; nobody waits for the end."""
    threading.Thread(target=_warm_up, args=(vendors, tuple(served)), daemon=True).start()


def _warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    time.sleep(_CALM)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_YIELD)
    for name in served:
        _ = vendors[name]
    load_vocabulary()
    gc.collect()
    return_memory()
    gc.freeze()  # what was imported stays; garbage need not be looked for in it
    sys.setswitchinterval(usual)
