import pytest
import torch
from torch.utils import _pytree
from torch.utils.flop_counter import FlopCounterMode

from etprof import models
from etprof.exporting import find
from etprof.models import llm_decoder
from etprof.models.seeded import seeded
from libraries import need_libraries


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
    network, inputs = model.get_eager_model().eval(), model.get_example_inputs()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(*inputs)
    assert round(counter.get_total_flops() / 2 / 1e6, 2) == 56.51


@pytest.mark.parametrize("name", models.model_names())
def test_models_are_seeded_and_leave_the_generator_alone(name: str):
    need_libraries(name)

    def outputs_of_a_fresh_model() -> list[torch.Tensor]:
        with torch.no_grad():
            methods = find.build_methods(find.find_model(name)).values()
            return [output for method in methods for output in _pytree.tree_leaves(method.module(*method.args))]

    def make() -> None:
        model = models.registered_class(name)()
        if hasattr(model, "get_methods"):
            model.get_methods()
        else:
            model.get_eager_model()
            model.get_example_inputs()

    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    make()
    assert torch.equal(torch.random.get_rng_state(), before)
    first, second = outputs_of_a_fresh_model(), outputs_of_a_fresh_model()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(torch.isfinite(output).all() for output in first)
    assert first[0].std() > 0


def test_the_image_encoders_maps():
    model = models.registered_class("image_encoder")()
    network = model.get_eager_model().eval()
    with torch.no_grad():
        maps = network(*model.get_example_inputs())
    assert [tuple(module.shape) for module in maps] == [(1, 16, 32, 32), (1, 32, 16, 16), (1, 64, 8, 8)]
    depthwise = [module for module in network.modules() if isinstance(module, torch.nn.Conv2d) and module.groups > 1]
    assert len(depthwise) == 14  # two blocks per stage, and two in each of three downsamplings
    assert len([module for module in network.modules() if type(module).__name__ == "SqueezeExcite"]) == 4


def test_the_vit_block_has_the_papers_proportions():
    network = models.registered_class("vit_block")().get_eager_model()
    # ViT-Tiny's block: 12 width^2 weights, 4 biases of qkv, proj, the two linear layers (9 width), two norms (4 width).
    assert sum(parameter.numel() for parameter in network.block.parameters()) == 12 * 192**2 + 13 * 192
    assert network.pos_embed.shape == (1, 37, 192)


def test_prefill_and_decode_are_one_decoder():
    """The cache is right: 33 tokens at once give the same outputs as 32 tokens and then one."""
    methods = models.registered_class("llm_decoder")().get_methods()
    (prefill, first), (decode, following) = methods["prefill"], methods["decode"]
    assert {id(parameter) for parameter in prefill.parameters()} == {id(parameter) for parameter in decode.parameters()}
    tokens = torch.cat([first[0], following[0]], dim=1)
    count = tokens.shape[1]
    with torch.no_grad():
        expected, keys, values = prefill(
            tokens, *llm_decoder.rotary(torch.arange(count)), llm_decoder.causal_mask(count)
        )
        prompt, *_ = prefill(*first)
        last, key, value = decode(*following)
        uncached, *_ = decode(*following[:3], llm_decoder.cache_mask(0), *following[4:])
    torch.testing.assert_close(prompt, expected[:, :-1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, expected[:, -1:], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(key, keys[:, :, -1:], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(value, values[:, :, -1:], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(uncached, expected[:, -1:], rtol=1e-2, atol=1e-3)


def test_the_stateful_decoder_remembers():
    """A prompt and then a token give the same as both at once. A token with an empty cache gives another result."""
    methods = models.registered_class("stateful_decoder")().get_methods()
    (prefill, first), (decode, following) = methods["prefill"], methods["decode"]
    tokens = torch.cat([first[0], following[0]], dim=1)
    count = tokens.shape[1]
    with torch.no_grad():
        expected, *_ = prefill.block(tokens, *llm_decoder.rotary(torch.arange(count)), llm_decoder.causal_mask(count))
        uncached = decode(*following)
        prompt = prefill(*first)
        last = decode(*following)
    torch.testing.assert_close(prompt, expected[:, :-1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, expected[:, -1:], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(uncached, last, rtol=1e-2, atol=1e-3)


def test_the_decoders_attention_is_pytorchs():
    """Compares grouped queries with scaled_dot_product_attention on repeated keys, and the rotation with complex numbers."""
    with seeded():
        attention = llm_decoder.Attention()
        tokens = torch.randn(1, 5, llm_decoder.WIDTH)
    cos, sin = llm_decoder.rotary(torch.arange(5))
    mask = llm_decoder.causal_mask(5)
    frequencies = 10000.0 ** (-torch.arange(0, llm_decoder.HEAD, 2) / llm_decoder.HEAD)
    rotation = torch.polar(torch.ones(5, llm_decoder.HEAD // 2), torch.outer(torch.arange(5.0), frequencies))

    def heads(linear: torch.nn.Linear, rotate: bool) -> torch.Tensor:
        split = linear(tokens).unflatten(-1, (-1, llm_decoder.HEAD)).transpose(1, 2)
        if not rotate:
            return split
        half = llm_decoder.HEAD // 2
        rotated = torch.complex(split[..., :half], split[..., half:]) * rotation
        return torch.cat([rotated.real, rotated.imag], dim=-1)

    with torch.no_grad():
        actual, *_ = attention(tokens, cos, sin, mask, lambda *new: new)
        mixed = torch.nn.functional.scaled_dot_product_attention(
            heads(attention.wq, True),
            heads(attention.wk, True),
            heads(attention.wv, False),
            attn_mask=mask,
            enable_gqa=True,
        )
        expected = attention.wo(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


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
