"""Classic servables: models of one network, asked for tensors in KServe's form and in TensorFlow Serving's."""
