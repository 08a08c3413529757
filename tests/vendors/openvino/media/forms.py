"""Sounds for tests."""

from emulator.vendors.openvino.media.audio_files import speak, write_wav

WAV = write_wav(speak("How many feet are in a mile?", "", 1.0, 16000), 16000)
MP3 = b"ID3\x03\x00\x00\x00\x00\x00\x00" + b"\xff\xfb\x90\x00" + bytes(413)
