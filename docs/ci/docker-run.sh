docker run --rm --detach --name emulator --publish 127.0.0.1:4010-4015:4010-4015 --volume "$PWD/scenarios:/scenarios:ro" ghcr.io/llm-emulator/llm-emulator:0.1.0
