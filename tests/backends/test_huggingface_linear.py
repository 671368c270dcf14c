"""Another library's matrix products on the same weights: used where they are right, left where they are not."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from truthguard.backends import huggingface_linear
from truthguard.backends.huggingface_linear import use_fast_linear

torch = pytest.importorskip("torch")


def layers(**options: Any) -> Any:
    torch.manual_seed(0)
    sizes = [torch.nn.Linear(24, 48, **options), torch.nn.Linear(48, 7, bias=False, **options)]
    return torch.nn.Sequential(sizes[0], torch.nn.Tanh(), sizes[1])


def available() -> bool:
    return huggingface_linear._operator() is not None


@pytest.mark.skipif(not available(), reason="torch has no oneDNN for this processor")
@pytest.mark.parametrize("shape", [(24,), (1, 24), (5, 24), (2, 3, 24), (0, 24)])
def test_the_products_are_the_same_but_for_rounding(shape: tuple[int, ...]) -> None:
    """Whatever the number of leading dimensions, none of them and no row at all."""
    model = layers()
    values = torch.randn(shape)
    with torch.inference_mode():
        expected = model(values)
        assert use_fast_linear(model) == 2
        torch.testing.assert_close(model(values), expected, atol=1e-5, rtol=0)
        columns = torch.randn((24, *shape[:-1])).movedim(0, -1)  # not contiguous
        torch.testing.assert_close(model(columns), model(columns.contiguous()))


@pytest.mark.skipif(not available(), reason="torch has no oneDNN for this processor")
def test_a_gradient_still_flows() -> None:
    """Whoever trains the model outside of inference has torch's own layers, without a warning."""
    model = layers()
    assert use_fast_linear(model) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(torch.randn(3, 24)).sum().backward()
    assert model[0].weight.grad.abs().sum() > 0


@pytest.mark.skipif(not available(), reason="torch has no oneDNN for this processor")
def test_c04_weights_that_are_no_numbers_are_no_reason_against_it() -> None:
    """C04: NaN goes in and comes out, as with torch's own layers."""
    model = layers()
    with torch.no_grad():
        model[2].weight[3, 0] = torch.nan
    assert use_fast_linear(model) == 2
    with torch.inference_mode():
        assert model(torch.ones(1, 24)).isnan().tolist() == [[False] * 3 + [True] + [False] * 3]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_only_float32_is_changed(dtype: str) -> None:
    """Half precision has fast products of torch's own."""
    assert use_fast_linear(layers(dtype=getattr(torch, dtype))) == 0


def wrong(values: Any, weight: Any, bias: Any, *_: Any) -> Any:
    return torch.nn.functional.linear(values, weight, bias) * 1.001


def absent(*_: Any) -> Any:
    raise RuntimeError("not for this processor")


@pytest.mark.parametrize("operator", [wrong, absent])
def test_an_operator_that_is_not_right_is_not_used(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What computes something else, or fails, leaves the layers as they were."""
    monkeypatch.setattr(huggingface_linear, "_operator", lambda: operator)
    model = layers()
    assert use_fast_linear(model) == 0
    assert [type(layer) for layer in model] == [torch.nn.Linear, torch.nn.Tanh, torch.nn.Linear]


def test_other_processors_keep_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On ARM torch chooses among the libraries by itself."""
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert use_fast_linear(layers()) == 0


def test_a_subclass_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that computes something of its own, as quantised ones do, is no plain linear layer."""
    monkeypatch.setattr(huggingface_linear, "_operator", lambda: wrong)

    class Own(torch.nn.Linear):  # type: ignore[misc, name-defined]
        pass

    assert use_fast_linear(torch.nn.Sequential(Own(4, 4))) == 0
