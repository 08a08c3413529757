"""Programs for people, run by hand: benchmarks, soaks, fuzzers, attacks, the docs generator, data generators."""
