"""Multipart forms and sounds for tests."""

from emulator.vendors.openvino.media.audio_files import speak, write_wav

BOUNDARY = "xyz"
HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
WAV = write_wav(speak("How many feet are in a mile?", "", 1.0, 16000), 16000)
MP3 = b"ID3\x03\x00\x00\x00\x00\x00\x00" + b"\xff\xfb\x90\x00" + bytes(413)
Part = str | bytes | tuple[str, bytes]


def make_form(*fields: tuple[str, Part]) -> bytes:
    """Build a form of fields in order: texts, bytes, or files with a name."""
    parts = []
    for name, value in fields:
        filename, content = value if isinstance(value, tuple) else ("a.bin", value)
        head = f'Content-Disposition: form-data; name="{name}"'
        if not isinstance(content, str):
            head += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        data = content if isinstance(content, bytes) else content.encode()
        parts.append(f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
