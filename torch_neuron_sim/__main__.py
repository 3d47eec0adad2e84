"""``python -m torch_neuron_sim`` is the console script ``neuron-sim``."""

import sys

from torch_neuron_sim.cli import main

if __name__ == "__main__":
    sys.exit(main())
