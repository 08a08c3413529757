"""Classic models of OpenVINO Model Server, which take tensors in KServe's or TensorFlow Serving's format."""
