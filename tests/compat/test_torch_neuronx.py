"""What the functions of ``torch_neuronx`` do where they differ from ``torch.neuron``, and a program that uses them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.distributed as dist


def test_a_program_written_for_torchneuron(torch_neuronx: ModuleType) -> None:
    torch_neuronx.clear_op_tracking()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2).to("neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        loss = model(torch.ones(3, 4).to("neuron")).float().square().mean()
    loss.backward()
    torch_neuronx.synchronize()
    assert torch_neuronx.is_neuron_runtime_initialized()
    assert torch_neuronx.get_fallback_ops() == []
    assert "aten::linear" in torch_neuronx.get_executed_ops()
    assert torch_neuronx.memory_allocated() > 0
    assert torch_neuronx.memory_stats()["allocated_bytes.all.current"] == torch_neuronx.memory_allocated()
    torch.ones(3, device="neuron").argmax()
    assert torch_neuronx.get_fallback_ops() == ["aten::argmax.out"]
    torch_neuronx.clear_op_tracking()
    assert torch_neuronx.get_executed_ops() == torch_neuronx.get_fallback_ops() == []


def test_set_device_takes_an_int_alone(torch_neuronx: ModuleType) -> None:
    torch_neuronx.set_device(1)
    assert torch_neuronx.current_device() == torch_neuronx.neuron.current_device() == 1
    for index in (-1, torch_neuronx.device_count()):
        with pytest.raises(ValueError, match=f"Invalid device id: {index}"):
            torch_neuronx.set_device(index)
    for device in ("neuron:0", torch.device("neuron", 0), None):
        with pytest.raises(TypeError, match="takes an int"):
            torch_neuronx.set_device(device)
    assert torch_neuronx.current_device() == 1


def test_device_properties_take_every_spelling(torch_neuronx: ModuleType) -> None:
    wanted = torch_neuronx.get_device_properties(1)
    assert all(torch_neuronx.get_device_properties(device) == wanted for device in ("neuron:1", "1"))
    assert repr(wanted) == f"<NeuronDeviceProperties(name={wanted.name!r}, total_memory={wanted.total_memory})>"
    with pytest.raises(ValueError, match="Invalid device id"):
        torch_neuronx.get_device_properties(99)


def test_device_context_restores_and_refuses(torch_neuronx: ModuleType) -> None:
    with torch_neuronx.device(2):
        assert torch_neuronx.current_device() == 2
        assert torch.ones(1, device="neuron").device.index == 2
    assert torch_neuronx.current_device() == 0
    with pytest.raises(ValueError, match="Invalid device id"), torch_neuronx.device(99):
        pass
    with pytest.raises(ValueError, match="Expected neuron device, got"):
        torch_neuronx._get_device_index("cuda:0")


def test_streams_and_events(torch_neuronx: ModuleType) -> None:
    stream = torch_neuronx.Stream()
    with torch_neuronx.stream(stream):
        assert torch_neuronx.current_stream() == stream
        start, end = (torch_neuronx.Event(enable_timing=True) for _ in range(2))
        start.record()
        end.record()
    torch_neuronx.set_stream(None)
    with torch_neuronx.StreamContext(None):
        assert torch_neuronx.current_stream() == torch_neuronx.default_stream()
    end.synchronize()
    assert start.elapsed_time(end) >= 0


def test_logged_names_are_listed_until_tracking_is_cleared(torch_neuronx: ModuleType) -> None:
    torch_neuronx.clear_op_tracking()
    for _ in range(2):
        torch_neuronx._C._log_executed_op("aten::one")
        torch_neuronx._C._log_offloaded_op("aten::other")
    assert torch_neuronx.get_executed_ops() == ["aten::one"]
    assert torch_neuronx.get_fallback_ops() == ["aten::other"]
    torch_neuronx.clear_op_tracking()
    assert torch_neuronx.get_executed_ops() == torch_neuronx.get_fallback_ops() == []


@pytest.mark.parametrize("name", ["nki_op", "wrap_nki"])
def test_nki_kernels_are_refused_when_used(torch_neuronx: ModuleType, name: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        getattr(torch_neuronx, name)("mylib::kernel", mutates_args=())
    assert str(caught.value) == (
        f"torch_neuronx.{name}: NKI kernels run on the real device only; torch_neuron_sim runs PyTorch operators, so "
        "give the program a path without the kernel"
    )


@pytest.mark.parametrize("backend", ["neuron", None])
def test_collectives_are_refused_when_used(tmp_path: Path, backend: str | None) -> None:
    store = dist.FileStore(str(tmp_path / "store"), 1)
    with pytest.raises(NotImplementedError, match="the backend 'neuron' is not simulated"):
        dist.init_process_group(backend, store=store, rank=0, world_size=1)
    assert not dist.is_initialized()


def test_other_collectives_work_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # which PyTorch replaces
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    try:
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [1, 1]
    finally:
        dist.destroy_process_group()


def test_profiler_gives_pytorchs_profile(torch_neuronx: ModuleType, tmp_path: Path) -> None:
    file, output = tmp_path / "trace.json", tmp_path / "output"
    profiler = torch_neuronx.NeuronProfiler(
        record_shapes=True, pytorch_trace_file=file, neuron_output_dir=str(output), event_filters=None
    )
    with pytest.raises(RuntimeError, match=r"call start\(\) first"):
        profiler.get_pytorch_trace()
    with profiler as entered:
        assert entered is profiler
        assert profiler.is_active()
        torch.ones(4, 4, device="neuron").mm(torch.ones(4, 4, device="neuron"))
        with pytest.raises(RuntimeError, match="running already"):
            profiler.start()
    assert not profiler.is_active()
    (row,) = [
        row for row in profiler.get_pytorch_trace().key_averages(group_by_input_shape=True) if row.key == "aten::mm"
    ]
    assert row.input_shapes == [[4, 4], [4, 4]]
    assert "aten::mm" in {event.get("name") for event in json.loads(file.read_text())["traceEvents"]}
    assert not output.exists()
    with pytest.raises(RuntimeError, match="not running"):
        profiler.stop()
