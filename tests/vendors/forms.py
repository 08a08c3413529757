"""Multipart forms for tests."""

BOUNDARY = "xyz"
HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
Part = str | bytes | tuple[str, bytes] | tuple[str, bytes, str]


def make_form(*fields: tuple[str, Part]) -> bytes:
    """Build a form of fields in order: texts, bytes, or files with a name and perhaps a content type."""
    parts = []
    for name, value in fields:
        filename, content, *kind = value if isinstance(value, tuple) else ("a.bin", value)
        head = f'Content-Disposition: form-data; name="{name}"'
        if not isinstance(content, str):
            head += f'; filename="{filename}"\r\nContent-Type: {kind[0] if kind else "application/octet-stream"}'
        data = content if isinstance(content, bytes) else content.encode()
        parts.append(f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
