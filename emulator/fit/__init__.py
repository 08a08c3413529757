"""Fit a scenario's latency to measured times, for ``emulator fit``.

``traces`` reads the times, ``estimate`` fits distributions to them, ``show`` prints and draws the result. SciPy, the
extra ``fit``, estimates the parameters.
"""
