"""``emulator health``: whether a running emulator is ready."""

import ssl
import sys
import urllib.error
import urllib.request


def check_health(url: str) -> int:
    """0 and one line if ready; 1 and the reason if not."""
    context = _trust_all() if url.lower().startswith("https:") else None
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/_emulator/ready", timeout=2, context=context):
            print("ready")
            return 0
    except urllib.error.HTTPError as error:
        print(f"not ready: HTTP {error.code}", file=sys.stderr)
    except OSError as error:
        print(f"not ready: {getattr(error, 'reason', error)}", file=sys.stderr)
    return 1


def _trust_all() -> ssl.SSLContext:
    """For our own certificate, on this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
