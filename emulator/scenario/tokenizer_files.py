"""Find the vocabulary files that deployments of a scenario name."""

from pathlib import Path

from emulator.scenario.source import Document


def place_tokenizers(document: Document) -> None:
    """Replace the paths of vocabularies, which are relative to the file that names them, by absolute ones."""
    deployments = document.data.get("deployments") if isinstance(document.data, dict) else None
    for position, entry in enumerate(deployments if isinstance(deployments, list) else ()):
        tokenizer = entry.get("tokenizer") if isinstance(entry, dict) else None
        file = tokenizer.get("file") if isinstance(tokenizer, dict) else None
        if isinstance(tokenizer, dict) and isinstance(file, str) and file and "\0" not in file:
            where = document.locations.values[("deployments", position, "tokenizer", "file")].file
            tokenizer["file"] = str((Path(where).parent / Path(file).expanduser()).absolute())
