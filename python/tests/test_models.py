import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from etprof import models


def test_mobilenet_v3_small_is_torchvisions():
    network = models.registered_class("mobilenet_v3_small")().get_eager_model()
    assert sum(parameter.numel() for parameter in network.parameters()) == 2_542_856
    names = dict(network.named_modules())
    assert isinstance(names["features.0.0"], torch.nn.Conv2d)
    assert isinstance(names["features.1.block.1.fc1"], torch.nn.Conv2d)
    assert isinstance(names["features.4.block.2.scale_activation"], torch.nn.Hardsigmoid)
    assert isinstance(names["features.12.2"], torch.nn.Hardswish)
    assert isinstance(names["classifier.3"], torch.nn.Linear)
    assert names["features.4.block.2.fc1"].out_channels == 24  # 96 / 4; and 576 / 4 = 144 below
    assert names["features.11.block.2.fc1"].out_channels == 144
    norms = [module for module in names.values() if isinstance(module, torch.nn.BatchNorm2d)]
    assert len(norms) == 34
    assert {norm.eps for norm in norms} == {1e-3}
    assert len(network.state_dict()) == 244


def test_mobilenet_v3_small_multiply_adds():
    model = models.registered_class("mobilenet_v3_small")()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.get_eager_model().eval()(*model.get_example_inputs())
    assert round(counter.get_total_flops() / 2 / 1e6, 2) == 56.51


@pytest.mark.parametrize("name", ["toy_cnn", "mobilenet_v3_small", "transformer_layer", "mixed_delegates"])
def test_models_are_seeded_and_leave_the_generator_alone(name: str):
    def outputs_of_a_fresh_model() -> list[torch.Tensor]:
        model = models.registered_class(name)()
        with torch.no_grad():
            outputs = model.get_eager_model().eval()(*model.get_example_inputs())
        return list(outputs) if isinstance(outputs, tuple) else [outputs]

    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = outputs_of_a_fresh_model()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    second = outputs_of_a_fresh_model()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(torch.isfinite(output).all() for output in first)
    assert first[0].std() > 0


def test_a_registered_class_is_found_and_a_bad_name_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "_registered", dict(models._registered))
    models.register_model("mine", int)
    assert models.registered_class("mine") is int
    assert "mine" in models.model_names()
    for bad in ("", "a/b", "..", "a b"):
        with pytest.raises(ValueError, match="name"):
            models.register_model(bad, int)
    with pytest.raises(KeyError):
        models.registered_class("theirs")
