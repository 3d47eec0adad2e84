"""The main job's model and text: the same from the same seed, without a trace on the caller's random state."""

from __future__ import annotations

from pathlib import Path

import torch

from torch_neuron_sim.cli.gpt import GPTConfig, Text, build_gpt, load_text


def test_text_skips_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text("abcab", encoding="utf-8")
    text = load_text(["gone.py", "here.py"], tmp_path)
    assert text.characters == ["a", "b", "c"]
    assert text.tokens.tolist() == [0, 1, 2, 0, 1]


def test_model_depends_on_its_seed_alone_and_leaves_the_random_state() -> None:
    config = GPTConfig(vocabulary=7, context=8, width=16, heads=2, layers=1)
    state = torch.get_rng_state()
    one = build_gpt(config, 1).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    again, other = build_gpt(config, 1).state_dict(), build_gpt(config, 2).state_dict()
    assert all(torch.equal(value, again[name]) for name, value in one.items())
    assert not torch.equal(one["tokens.weight"], other["tokens.weight"])


def test_model_is_causal_and_batches_are_shifted_by_one() -> None:
    config = GPTConfig(vocabulary=7, context=8, width=16, heads=2, layers=2)
    model = build_gpt(config, 0)
    inputs, targets = Text("abcdefg" * 9).batch(torch.Generator().manual_seed(0), 3, config.context)
    assert inputs.shape == targets.shape == (3, 8)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    changed = inputs.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 7
    with torch.no_grad():
        before, after = model(inputs), model(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5], rtol=0, atol=1e-6)
    assert not torch.allclose(before[:, 5:], after[:, 5:])
