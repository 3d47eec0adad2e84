"""Streams: distinct, current in their thread, and ordered by events and waits."""

from __future__ import annotations

import threading

import pytest
import torch

neuron = torch.neuron


def test_new_streams_are_distinct_and_equal_only_to_themselves() -> None:
    streams = [neuron.Stream() for _ in range(5)] + [torch.Stream("neuron"), neuron.Stream(1), neuron.default_stream()]
    for i, one in enumerate(streams):
        for j, other in enumerate(streams):
            assert (one == other) is (i == j)
            assert (one != other) is (i != j)
    assert len({*streams, *streams}) == len(streams)
    assert len({(stream.device_index, stream.stream_id) for stream in streams}) == len(streams)
    assert neuron.Stream() != 3


def test_attributes() -> None:
    stream = neuron.Stream(device="neuron:1", priority=-1)
    assert isinstance(stream, torch.Stream)
    assert stream.device == torch.device("neuron", 1)
    assert stream.device_index == 1
    assert stream.priority == -1
    with neuron.device(2):
        assert neuron.Stream().device_index == torch.Stream().device_index == 2


def test_default_stream_is_current_until_another_is_and_is_equal_every_time() -> None:
    assert neuron.current_stream() == neuron.default_stream() == torch.accelerator.current_stream()
    assert hash(neuron.current_stream()) == hash(neuron.default_stream())
    assert neuron.current_stream(1) == neuron.default_stream("neuron:1") != neuron.default_stream(0)
    assert neuron.Stream() != neuron.default_stream()


def test_contexts_nest_and_restore() -> None:
    first, second = neuron.Stream(), neuron.Stream()
    with neuron.stream(first):
        assert neuron.current_stream() == torch.accelerator.current_stream() == first
        with neuron.stream(second), neuron.stream(None):
            assert neuron.current_stream() == second
        with pytest.raises(KeyError), neuron.StreamContext(second):
            raise KeyError
        assert neuron.current_stream() == first
        with first:  # a torch.Stream is a context of its own
            assert neuron.current_stream() == first
        assert neuron.current_stream() == first
    assert neuron.current_stream() == neuron.default_stream()


def test_one_context_may_be_entered_again() -> None:
    stream = neuron.Stream()
    context = neuron.stream(stream)
    for _ in range(2):
        with context, context:
            assert neuron.current_stream() == stream
        assert neuron.current_stream() == neuron.default_stream()


def test_context_makes_its_device_current_and_restores_both() -> None:
    stream = neuron.Stream(2)
    with neuron.stream(stream):
        assert neuron.current_device() == 2
        assert torch.ones(1, device="neuron").device.index == 2
        assert neuron.current_stream() == stream
        assert neuron.current_stream(0) == neuron.default_stream(0)
    assert neuron.current_device() == 0
    assert neuron.current_stream(2) == neuron.default_stream(2)


def test_set_stream() -> None:
    stream = neuron.Stream(1)
    neuron.set_stream(None)
    assert neuron.current_stream() == neuron.default_stream()
    try:
        neuron.set_stream(stream)
        assert neuron.current_device() == 1
        assert neuron.current_stream() == stream
    finally:
        neuron.set_stream(neuron.default_stream(1))
    assert neuron.current_stream(1) == neuron.default_stream(1)


def test_current_stream_belongs_to_the_thread() -> None:
    seen = []

    def work() -> None:
        seen.append(neuron.current_stream() == neuron.default_stream())
        neuron.set_stream(neuron.Stream())

    stream = neuron.Stream()
    with neuron.stream(stream):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert neuron.current_stream() == stream
    assert seen == [True]
    assert neuron.current_stream() == neuron.default_stream()


def test_waiting_and_asking() -> None:
    first, second = neuron.Stream(), neuron.Stream()
    with neuron.stream(first):
        tensor = torch.arange(1000, device="neuron").cumsum(0)
    event = first.record_event()
    second.wait_event(event)
    second.wait_stream(first)
    neuron.wait_stream(first)
    neuron.wait_event(event)
    event.wait(second)
    event.wait()
    with neuron.stream(second):
        assert tensor[-1].item() == 999 * 1000 // 2
    for each in (first, second):
        each.synchronize()
        assert each.query() is True
    assert neuron.query() is True
    assert event.query() is True
    event.synchronize()


def test_streams_of_two_devices_do_not_wait_for_each_other() -> None:
    with pytest.raises(RuntimeError, match=r"neuron:0 cannot wait for a stream of neuron:1"):
        neuron.Stream(0).wait_stream(neuron.Stream(1))
    with pytest.raises(RuntimeError, match=r"neuron:0 cannot wait for a stream of neuron:1"):
        neuron.current_stream().wait_stream(torch.Stream("neuron:1"))


def test_events_are_recorded_where_they_are_asked_to_be() -> None:
    stream = neuron.Stream(1)
    mine = neuron.Event()
    assert stream.record_event(mine) is mine
    assert isinstance(stream.record_event(), neuron.Event)
    assert isinstance(neuron.record_event(), torch.Event)
    assert neuron.record_event(mine) is mine
    assert mine.device.type == "neuron"
    mine.record()
    mine.record(stream)
    assert mine.query()


def test_an_event_that_was_never_recorded_is_done() -> None:
    event = neuron.Event(enable_timing=True, blocking=True)
    assert event.query() is True
    event.synchronize()
    event.wait()


def test_record_stream_keeps_the_tensor_usable() -> None:
    tensor = torch.arange(4, device="neuron")
    for stream in (neuron.Stream(), neuron.current_stream(), torch.Stream("neuron:1")):
        tensor.record_stream(stream)
    assert tensor.tolist() == [0, 1, 2, 3]
    address = tensor.data_ptr()
    del tensor
    assert torch.arange(4, device="neuron").data_ptr() == address  # work is done at the call, so nothing is held back


def test_accelerator_streams_are_the_same_streams() -> None:
    stream = torch.Stream()  # of the accelerator
    assert stream.device.type == "neuron"
    torch.accelerator.set_stream(stream)
    try:
        assert neuron.current_stream() == stream
    finally:
        torch.accelerator.set_stream(neuron.default_stream())
    assert torch.Event(enable_timing=True).device.type == "neuron"
