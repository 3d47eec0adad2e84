"""``torch_neuronx.python_ops``: where TorchNeuron keeps its kernels. The simulator's are CPU's own, so it is empty."""
