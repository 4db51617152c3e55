"""loads.py FILE PIXELS: a saved model in PyTorch's own modules, by its names; the outputs for bytes (count, 1, 28, 28), a line of JSON."""

import json
import sys

import numpy
import torch
from safetensors import safe_open
from safetensors.torch import load_file

path, pixels = sys.argv[1:]
network = torch.nn.Sequential()
network.add_module("conv1", torch.nn.Conv2d(1, 6, 5, stride=2, padding=1, bias=False))
network.add_module("bn1", torch.nn.BatchNorm2d(6))
network.add_module("relu", torch.nn.ReLU())
network.add_module("flatten", torch.nn.Flatten())
network.add_module("fc", torch.nn.Linear(6 * 13 * 13, 10))
network.load_state_dict(load_file(path), strict=True)
network.eval()

with safe_open(path, "pt") as file:
    mean, std = (torch.tensor(json.loads(file.metadata()[name])) for name in ("mean", "std"))
samples = torch.from_numpy(numpy.fromfile(pixels, dtype=numpy.uint8).reshape(-1, 1, 28, 28)).float() / 255
with torch.no_grad():
    print(json.dumps(network((samples - mean[:, None, None]) / std[:, None, None]).flatten().tolist()))
