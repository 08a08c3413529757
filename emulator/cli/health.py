"""``emulator health``: whether a running emulator is ready."""

import sys
import urllib.error
import urllib.request

from emulator.cli.trust import trust_all


def check_health(url: str) -> int:
    """0 and one line if ready; 1 and the reason if not."""
    context = trust_all(url)
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/_emulator/ready", timeout=2, context=context):
            print("ready")
            return 0
    except urllib.error.HTTPError as error:
        print(f"not ready: HTTP {error.code}", file=sys.stderr)
    except OSError as error:
        print(f"not ready: {getattr(error, 'reason', error)}", file=sys.stderr)
    return 1
