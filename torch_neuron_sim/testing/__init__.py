"""What a user's own tests need: parity with CPU, and a pytest plugin.

``pytest_plugins = ["torch_neuron_sim.testing.plugin"]`` in a conftest.py gives the fixture ``neuron_device`` and the
marker ``no_fallback``.
"""

from torch_neuron_sim.testing.parity import assert_parity

__all__ = ["assert_parity"]
