"""``torch_neuronx.utils``: no function of it is public in the sources that the alias follows, so it is empty."""
