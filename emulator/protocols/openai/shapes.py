"""Shapes of OpenAI's requests. Source: openai/openai-openapi; the differences: ``tests/tools/shapes/openai.py``."""

from emulator.protocols.shapes import ShapeTable

SHAPES = ShapeTable("emulator.protocols.openai")
