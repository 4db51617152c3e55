"""Trains one of the zoo's models in PyTorch on a problem that the caller wrote, and writes down all that the caller may compare.

Usage: pytorch.py FOLDER PRECISION ORDER, with PRECISION float32 or float64 and ORDER contiguous or channels_last. Reads problem.json, weights.f32,
inputs.f32 and targets.i32 from FOLDER; writes losses, gradients (of the first step) and trained (the weights after the last step) there, all
float64 in PyTorch's order of parameters; says its version.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers"))
from models import build  # noqa: E402


class Recurrent(torch.nn.Module):
    """A long short-term memory of two layers, then gated recurrent units, all in both directions, and the mean of the positions."""

    def __init__(self, sample, classes):
        super().__init__()
        self.lstm = torch.nn.LSTM(sample[1], 9, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(18, 7, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(14, classes)

    def forward(self, x):
        return self.head(self.gru(self.lstm(x)[0])[0].mean(dim=1))


class PixelNorm(torch.nn.LayerNorm):
    """A layer norm of the channels of each pixel."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Scale(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(channels))

    def forward(self, x):
        return x * self.weight[:, None, None]


class Segments(torch.nn.Module):
    """A block of ConvNeXt, transposed convolutions, and the classes of each pixel."""

    def __init__(self, sample, classes):
        super().__init__()
        self.stem = torch.nn.Sequential(torch.nn.Conv2d(sample[0], 8, 4, stride=2, padding=1), PixelNorm(8))
        self.filter = torch.nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.mix = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
        self.scale = Scale(8)
        self.grow = torch.nn.ConvTranspose2d(8, 12, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.smooth = torch.nn.ConvTranspose2d(12, 5, (3, 2), padding=(2, 1), dilation=2, bias=False)
        self.head = torch.nn.Conv2d(5, classes, 1)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.scale(self.mix(self.filter(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
        return self.head(self.smooth(torch.relu(self.grow(x)))).flatten(2).transpose(1, 2)


def twin_of(problem):
    if problem["model"] == "segments":
        return Segments(problem["sample"], problem["classes"])
    if problem["model"] == "recurrent":
        return Recurrent(problem["sample"], problem["classes"])
    return build(problem["model"], problem["sample"], problem["classes"], problem["shortcut"], dropout=0, **problem["size"])


def flat(tensors):
    """One vector of all of them, each in its canonical order."""
    return torch.cat([tensor.detach().contiguous().reshape(-1).double() for tensor in tensors])


def main():
    folder, precision, order = Path(sys.argv[1]), getattr(torch, sys.argv[2]), sys.argv[3]
    memory_format = getattr(torch, f"{order}_format" if order == "contiguous" else order)
    torch.set_num_threads(1)
    problem = json.loads((folder / "problem.json").read_text())
    model = twin_of(problem)

    weights = torch.from_numpy(numpy.fromfile(folder / "weights.f32", numpy.float32))
    parameters = list(model.parameters())
    shapes = [list(parameter.shape) for parameter in parameters]
    if shapes != problem["shapes"]:
        raise ValueError(f"parameters: received shapes {problem['shapes']}; PyTorch's twin of the model has {shapes}")
    with torch.no_grad():
        for parameter, values in zip(parameters, weights.split([parameter.numel() for parameter in parameters])):
            parameter.copy_(values.reshape(parameter.shape))
    model = model.to(precision).to(memory_format=memory_format)

    inputs = torch.from_numpy(numpy.fromfile(folder / "inputs.f32", numpy.float32)).to(precision)
    inputs = inputs.reshape(problem["steps"], problem["batch"], *problem["sample"])
    targets = torch.from_numpy(numpy.fromfile(folder / "targets.i32", numpy.int32)).long().reshape(problem["steps"], -1)
    if problem["model"] in ("gpt", "text-classifier"):
        inputs = inputs.long()
    optimiser = torch.optim.SGD(model.parameters(), problem["rate"], problem["momentum"], weight_decay=problem["weightDecay"])

    weights_of_classes = torch.tensor(problem["classWeights"], dtype=precision) if problem["classWeights"] else None

    losses, gradients = [], None
    for x, target in zip(inputs, targets):
        logits = model(x.contiguous(memory_format=memory_format) if x.dim() == 4 else x)
        loss = F.cross_entropy(logits.flatten(0, -2), target, weights_of_classes, ignore_index=-1, label_smoothing=problem["labelSmoothing"])
        optimiser.zero_grad()
        loss.backward()
        if gradients is None:
            gradients = flat(parameter.grad for parameter in model.parameters())
        optimiser.step()
        losses.append(loss.item())

    numpy.array(losses).tofile(folder / "losses.f64")
    gradients.numpy().tofile(folder / "gradients.f64")
    flat(model.parameters()).numpy().tofile(folder / "trained.f64")
    print(torch.__version__)


if __name__ == "__main__":
    main()
