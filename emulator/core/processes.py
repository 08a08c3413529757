"""Build the command that runs a module of this package in a child process.

The server starts its workers so, and ``emulator record`` the process that writes exchanges.
"""

import sys


def name_command(module: str) -> tuple[str, ...]:
    """Return the command of a module, which imports from this process's paths but never the current folder."""
    paths = [path for path in sys.path if path]  # an empty path is the current folder, as for ``python -c``
    run = f"import runpy, sys; sys.path[:] = {paths!r}; runpy.run_module({module!r}, run_name='__main__')"
    return (sys.executable, "-P", "-c", run)
