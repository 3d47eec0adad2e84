"""The version that ``torch_neuronx`` says it has."""

import torch

# TorchNeuron 2.13.3.0 pairs with PyTorch 2.13.0, and 2.14.3.0 with 2.14.0 (Neuron docs, release notes of TorchNeuron).
VERSION = f"{'.'.join(torch.__version__.split('.')[:2])}.3.0+sim"
