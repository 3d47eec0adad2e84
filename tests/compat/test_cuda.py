"""``MapCuda``: where "cuda" is taken for neuron, and that nothing of it stays."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from torch_neuron_sim.compat import cuda
from torch_neuron_sim.compat.cuda import MapCuda

NEURON = torch.device("neuron", 0)


def test_device_names_mean_neuron_wherever_functions_take_them() -> None:
    with MapCuda() as mapping:
        host = torch.ones(2)
        made = [
            host.to("cuda"),
            host.to(device="cuda:0"),
            host.to(torch.device("cuda")),
            host.cuda(),
            host.cuda(0, non_blocking=True),
            host.cuda("cuda:0"),
            torch.tensor([1.0], device="cuda"),
            torch.zeros_like(host, device="cuda"),
            host.new_zeros(2, device="cuda"),
            nn.Linear(2, 2).cuda().weight,
            nn.Linear(2, 2).to("cuda", torch.float32).weight,
            nn.Linear(2, 2, device="cuda").weight,
        ]
        with torch.device("cuda"):
            made.append(torch.ones(2))
        assert [tensor.device for tensor in made] == [NEURON] * len(made)
        assert all(tensor.is_cuda for tensor in made)
        assert not host.is_cuda
        assert host.to("cuda:1").device.index == host.cuda(1).device.index == 1
        assert torch.device("cuda") == torch.device("neuron")
        assert torch.device("cuda", 1) == torch.device("neuron", 1)
    assert mapping.mapped["Tensor.cuda"] == 6
    assert mapping.mapped["Module.to"] == 1
    assert mapping.mapped["torch.zeros_like"] == 1


def test_torch_cuda_answers_for_neuron() -> None:
    neuron = torch.get_device_module("neuron")
    with MapCuda() as mapping:
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == neuron.device_count()
        torch.cuda.set_device("cuda:1")
        assert torch.cuda.current_device() == neuron.current_device() == 1
        tensor = torch.ones(1000, device="cuda:1")
        torch.cuda.synchronize(torch.device("cuda:1"))
        assert torch.cuda.memory_allocated("cuda:1") == neuron.memory_allocated(1) >= tensor.nbytes
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream)
    assert mapping.mapped["torch.cuda.is_available"] == 1
    assert mapping.mapped["torch.cuda.memory_allocated"] == 1


def test_every_function_named_is_one_of_both_modules() -> None:
    neuron = torch.get_device_module("neuron")
    for name in (*cuda.FUNCTIONS, *cuda.CLASSES):
        assert callable(getattr(torch.cuda, name))
        assert callable(getattr(neuron, name))


def test_amp_generators_and_checkpoints(tmp_path: Path) -> None:
    with MapCuda() as mapping:
        model = nn.Linear(4, 2).cuda()
        for context in (torch.autocast("cuda", dtype=torch.bfloat16), torch.amp.autocast(device_type="cuda")):
            with context:
                assert model(torch.ones(1, 4, device="cuda")).dtype in (torch.bfloat16, torch.float16)
        scaler = torch.amp.GradScaler()
        scaler.scale(model(torch.ones(1, 4, device="cuda")).sum()).backward()
        assert scaler.is_enabled()
        generator = torch.Generator(device="cuda")
        assert generator.device.type == "neuron"
        assert isinstance(generator, torch.Generator)
        assert isinstance(torch.default_generator, torch.Generator)
        torch.save(model.state_dict(), tmp_path / "state.pt")
        for place in ("cuda", "cuda:0", torch.device("cuda")):
            assert torch.load(tmp_path / "state.pt", map_location=place)["weight"].device == NEURON
    assert mapping.mapped["torch.amp.autocast"] == 2
    assert mapping.mapped["torch.amp.GradScaler"] == 1


def test_a_checkpoint_saved_on_cuda_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
    torch.save(torch.arange(3), tmp_path / "cuda.pt")
    monkeypatch.undo()
    with MapCuda() as mapping:
        assert torch.load(tmp_path / "cuda.pt").tolist() == [0, 1, 2]
        assert torch.load(tmp_path / "cuda.pt").device == NEURON
        assert torch.load(tmp_path / "cuda.pt", map_location="cpu").device.type == "cpu"
    assert mapping.mapped["torch.load"] == 2


def test_torch_itself_goes_on_asking_about_cuda() -> None:
    scope: dict[str, Any] = {"torch": torch, "__name__": "torch.some.module"}
    with MapCuda():
        assert torch.cuda.is_available()
        assert not eval("torch.cuda.is_available()", scope)


def test_everything_is_as_before_afterwards() -> None:
    names = [(torch.cuda, name) for name in (*cuda.FUNCTIONS, *cuda.CLASSES)]
    names += [(torch, "Generator"), (torch, "load"), (torch.autocast, "__init__"), (torch.amp.GradScaler, "__init__")]
    before = [getattr(owner, name) for owner, name in names]
    with pytest.raises(KeyError), MapCuda():
        raise KeyError
    assert [getattr(owner, name) for owner, name in names] == before
    assert torch.device("cuda").type == "cuda"


def test_other_threads_keep_their_device_names() -> None:
    seen: list[str] = []
    with MapCuda():
        thread = threading.Thread(target=lambda: seen.append(torch.device("cuda").type))
        thread.start()
        thread.join()
    assert seen == ["cuda"]


def test_summary_says_what_was_mapped_and_how_often() -> None:
    with MapCuda() as mapping:
        assert mapping.summary() == '--map-cuda: nothing asked for "cuda"'
        torch.ones(1).cuda().cuda()
        torch.randn(1, device="cuda")
    assert mapping.summary() == '--map-cuda: "cuda" was taken for neuron in Tensor.cuda (2), torch.randn (1)'
