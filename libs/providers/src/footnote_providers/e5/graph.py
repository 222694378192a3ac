"""Writes the weights as an ONNX graph that keeps their codes: a BERT encoder of onnxruntime's own operators.

`MatMulNBits` and `GatherBlockQuantized` take the codes and scales unchanged, so the graph is as exact as the file. The
matrices that are multiplied have 8 bits for each code of 4, which saves unpacking them for every text and costs 11 MB.
The inputs `input_ids` and `attention_mask` are int64 of shape (batch,
tokens). The output `last_hidden_state` is float32 of shape (batch, tokens, hidden).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from footnote_providers.e5.weights import BLOCK, Weights

_FUSED = "com.microsoft"
_BITS = 4
_MULTIPLIED_BITS = 8
_ZERO = 8  # the code of weight 0 in the file
_MULTIPLIED_ZERO = 128  # and in matrices of 8 bits
_INT8_ACTIVATIONS = 4  # accuracy level: activations are rounded to 8 bits in blocks of 32, as the weights are


def write(weights: Weights, path: Path) -> None:
    """Write the graph to a file."""
    onnx.save(_Graph(weights).model(), str(path))


class _Graph:
    """Collects nodes and constants; most methods return the name of their output."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._shape = weights.shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        """Return the whole graph."""
        rows = self._embedded()
        for layer in range(self._shape.layers):
            rows = self._layer(rows, f"l{layer}")
        self._node("Identity", [rows], "last_hidden_state")
        sizes: list[str | int] = ["batch", "tokens"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*sizes, self._shape.hidden])
        graph = helper.make_graph(self._nodes, "multilingual-e5-small", inputs, [output], self._constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def _embedded(self) -> str:
        codes, scales = self._weights.matrix("emb.word", self._shape.hidden)
        signed = ((codes.astype(np.int8) - _ZERO) & 0x0F).astype(np.uint8)
        words = TensorProto(name="emb.word", data_type=TensorProto.INT4, raw_data=_packed(signed).tobytes())
        words.dims.extend([len(codes), self._shape.hidden])
        self._constants.append(words)
        scale = self._constant("emb.word.scale", scales)
        word = self._node(
            "GatherBlockQuantized",
            ["emb.word", "input_ids", scale],
            "emb.word.rows",
            _FUSED,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )
        hidden = self._shape.hidden
        places = self._weights.floats("emb.pos").reshape(-1, hidden) + self._weights.floats("emb.type")[:hidden]
        axis = self._constant("emb.axis", np.array([0], np.int64))
        length = self._node("Shape", ["input_ids"], "emb.length", start=1, end=2)
        place = self._node("Slice", [self._constant("emb.place", places), axis, length, axis], "emb.place.rows")
        rows = self._node("Add", [word, place], "emb.sum")
        self._node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        self._constant("thirds", np.full(3, hidden, np.int64))
        return self._node(
            "LayerNormalization",
            [rows, self._floats("emb.ln.w"), self._floats("emb.ln.b")],
            "emb",
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _layer(self, rows: str, name: str) -> str:
        hidden, inner = self._shape.hidden, self._shape.inner
        together = self._dense(rows, [f"{name}.q", f"{name}.k", f"{name}.v"], hidden, f"{name}.qkv")
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        self._nodes.append(helper.make_node("Split", [together, "thirds"], parts, axis=-1))
        attended = self._node(
            "MultiHeadAttention", [*parts, "", "mask"], f"{name}.attended", _FUSED, num_heads=self._shape.heads
        )
        rows = self._added(rows, self._dense(attended, [f"{name}.ao"], hidden, f"{name}.ao.out"), f"{name}.aln")
        wide = self._node("Gelu", [self._dense(rows, [f"{name}.fi"], hidden, f"{name}.fi.out")], f"{name}.wide", _FUSED)
        return self._added(rows, self._dense(wide, [f"{name}.fo"], inner, f"{name}.fo.out"), f"{name}.oln")

    def _dense(self, rows: str, names: list[str], columns: int, output: str) -> str:
        """Multiply by vertically stacked matrices, and add their biases."""
        matrices = [self._weights.matrix(f"{name}.w", columns) for name in names]
        codes = np.concatenate([codes for codes, _ in matrices])
        scales = np.concatenate([scales for _, scales in matrices]).reshape(-1)
        bias = np.concatenate([self._weights.floats(f"{name}.b") for name in names])
        inputs = [
            rows,
            self._constant(f"{output}.w", codes + np.uint8(_MULTIPLIED_ZERO - _ZERO)),
            self._constant(f"{output}.scale", scales),
        ]
        return self._node(
            "MatMulNBits",
            [*inputs, "", "", self._constant(f"{output}.b", bias)],
            output,
            _FUSED,
            K=columns,
            N=len(codes),
            bits=_MULTIPLIED_BITS,
            block_size=BLOCK,
            accuracy_level=_INT8_ACTIVATIONS,
        )

    def _added(self, rows: str, more: str, norm: str) -> str:
        inputs = [rows, more, self._floats(f"{norm}.w"), self._floats(f"{norm}.b")]
        return self._node("SkipLayerNormalization", inputs, norm, _FUSED, epsilon=self._shape.epsilon)

    def _floats(self, name: str) -> str:
        return self._constant(name, self._weights.floats(name))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: int | float) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], None, None, domain, None, **attributes))
        return output


def _packed(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack two neighbouring codes into a byte, the first in its low half; shape (rows, blocks, 16)."""
    return (codes[..., 0::2] | (codes[..., 1::2] << _BITS)).astype(np.uint8)
