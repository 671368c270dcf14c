"""Faster float32 matrix products on x86 processors: oneDNN's instead of the default library's.

torch computes a float32 linear layer with MKL, which on processors that Intel did not make leaves the widest vector
instructions unused: on an AMD EPYC of 2025 it reached 200 GFLOP/s where oneDNN, which torch carries too, reached 440
with the same weights in the same place. Both are float32 throughout and differ by the order of their sums.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# What two orders of one float32 sum may differ by, as a part of the largest value.
_AGREES = 1e-4


def use_fast_linear(model: Any) -> int:
    """Let the model's float32 linear layers on the CPU use oneDNN; how many do now.

    0 where oneDNN is not there, or where on one of the model's own shapes it does not compute what torch does.
    """
    import torch

    operator = _operator()
    if operator is None:
        return 0
    layers = [
        layer
        for layer in model.modules()
        if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu"
    ]
    shapes = {(layer.in_features, layer.out_features, layer.bias is None): layer for layer in layers}
    if not all(_agrees(operator, layer) for layer in shapes.values()):
        return 0
    fast = _fast_class(operator)
    for layer in layers:
        layer.__class__ = fast
    return len(layers)


def _operator() -> Any:
    """oneDNN's linear layer on weights in torch's own layout; None where this build or machine has none.

    It is what torch.compile emits for a frozen model, and has no public name.
    """
    import torch

    mkldnn: Any = torch.backends.mkldnn
    if platform.machine().lower() not in ("x86_64", "amd64") or not mkldnn.is_available():
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def _agrees(operator: Any, layer: torch.nn.Linear) -> bool:
    import torch

    generator = torch.Generator().manual_seed(0)
    values = torch.randn((3, layer.in_features), generator=generator)
    with torch.inference_mode():
        expected = torch.nn.functional.linear(values, layer.weight, layer.bias)
        try:
            found = operator(values, layer.weight, layer.bias, "none", [], "")
        except Exception:  # an operator without a promise may fail in any way; torch's own serves then
            return False
        # Weights that are not numbers give no number either way.
        scale = float(expected.abs().nan_to_num().max())
        return bool(torch.allclose(found, expected, rtol=0.0, atol=_AGREES * max(scale, 1.0), equal_nan=True))


def _fast_class(operator: Any) -> type:
    import torch

    class OneDnnLinear(torch.nn.Linear):
        """A linear layer for inference, on the same weights."""

        def forward(self, input: torch.Tensor) -> torch.Tensor:
            if torch.is_grad_enabled() or input.dtype != torch.float32 or not input.numel():
                return super().forward(input)
            result: torch.Tensor = operator(input, self.weight, self.bias, "none", [], "")
            return result

    return OneDnnLinear
