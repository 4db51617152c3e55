"""The zoo's models in PyTorch: the same layers, and parameters in the same order, so that one flat vector serves both."""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Sequential):
    """784-256-128-classes with ReLU between."""

    def __init__(self, sample, classes, hidden=(256, 128)):
        widths = [torch.Size(sample).numel(), *hidden]
        layers = [nn.Flatten()]
        for before, after in zip(widths, widths[1:]):
            layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
        super().__init__(*layers, nn.Linear(widths[-1], classes))


class LeNet(nn.Sequential):
    """Caffe's LeNet: 20 and 50 filters of 5x5, each with max pooling, 500 units."""

    def __init__(self, sample, classes):
        side = ((sample[1] - 4) // 2 - 4) // 2
        super().__init__(
            nn.Conv2d(sample[0], 20, 5),
            nn.MaxPool2d(2),
            nn.Conv2d(20, 50, 5),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(50 * side * side, 500),
            nn.ReLU(inplace=True),
            nn.Linear(500, classes),
        )


class SubsamplePad(nn.Module):
    """Shortcut A: every second pixel, the new channels zero and half of them on each side."""

    def __init__(self, extra):
        super().__init__()
        self.extra = extra

    def forward(self, x):
        before = self.extra // 2
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, before, self.extra - before))


class Block(nn.Module):
    """The basic block of two 3x3 convolutions."""

    def __init__(self, before, after, stride, shortcut):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        if stride == 1 and before == after:
            self.shortcut = nn.Identity()
        elif shortcut == "A":
            self.shortcut = SubsamplePad(after - before)
        else:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)).add_(self.shortcut(x)), inplace=True)


class ResNet(nn.Module):
    """He et al. 2016, section 4.2: 6n+2 layers for 32x32 images."""

    def __init__(self, depth, sample, classes, shortcut="A"):
        super().__init__()
        self.conv1 = nn.Conv2d(sample[0], 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        blocks, before = [], 16
        for stage, after in enumerate((16, 32, 64)):
            for block in range((depth - 2) // 6):
                blocks.append(Block(before, after, 2 if stage > 0 and block == 0 else 1, shortcut))
                before = after
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return self.fc(self.blocks(x).mean((2, 3)))


def build(name, sample, classes, shortcut="A"):
    """The model of that name for samples (C, H, W); ValueError for a name that is not known."""
    if name == "mlp":
        return Mlp(sample, classes)
    if name == "lenet":
        return LeNet(sample, classes)
    if name.startswith("resnet") and (int(name[6:]) - 2) % 6 == 0:
        return ResNet(int(name[6:]), sample, classes, shortcut)
    raise ValueError(f"model: received {name}; use mlp, lenet, resnet20, 32, 44, 56 or 110")
