"""Routes of OpenVINO Model Server for images and audio: generate, edit, transcribe, speak."""
