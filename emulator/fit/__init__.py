"""Fit a scenario's latency to measured times.

``traces`` reads them, ``estimate`` fits distributions, ``show`` prints and draws these. SciPy, the extra ``fit``,
estimates the parameters.
"""
