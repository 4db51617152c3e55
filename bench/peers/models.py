"""The zoo's models in PyTorch: the same layers, and parameters in the same order, so that one flat vector serves both."""

import math

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


def in_groups(groups):
    """A maker of group norms."""
    return lambda channels: nn.GroupNorm(groups, channels)


class Block(nn.Module):
    """The basic block of two 3x3 convolutions. `norm` makes its norms."""

    def __init__(self, before, after, stride, shortcut, norm=nn.BatchNorm2d):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = norm(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = norm(after)
        if stride == 1 and before == after:
            self.shortcut = nn.Identity()
        elif shortcut == "A":
            self.shortcut = SubsamplePad(after - before)
        else:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), norm(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)).add_(self.shortcut(x)), inplace=True)


class ResNet(nn.Module):
    """He et al. 2016, section 4.2: 6n+2 layers for 32x32 images."""

    def __init__(self, depth, sample, classes, shortcut="A", norm=nn.BatchNorm2d):
        super().__init__()
        self.conv1 = nn.Conv2d(sample[0], 16, 3, 1, 1, bias=False)
        self.bn1 = norm(16)
        blocks, before = [], 16
        for stage, after in enumerate((16, 32, 64)):
            for block in range((depth - 2) // 6):
                blocks.append(Block(before, after, 2 if stage > 0 and block == 0 else 1, shortcut, norm))
                before = after
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return self.fc(self.blocks(x).mean((2, 3)))


class Bottleneck(nn.Module):
    """1x1, 3x3 with the stride, 1x1 to four times the filters; the 3x3 convolution may be wider, and have groups."""

    expansion = 4

    def __init__(self, before, filters, stride, groups=1, times=1, norm=nn.BatchNorm2d):
        super().__init__()
        after, inner = self.expansion * filters, times * filters
        self.conv1 = nn.Conv2d(before, inner, 1, bias=False)
        self.bn1 = norm(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = norm(inner)
        self.conv3 = nn.Conv2d(inner, after, 1, bias=False)
        self.bn3 = norm(after)
        self.downsample = nn.Identity()
        if stride > 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), norm(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        return F.relu(self.bn3(self.conv3(y)).add_(self.downsample(x)), inplace=True)


def basic_block(before, after, stride, norm):
    return Block(before, after, stride, "B", norm)


IMAGENET_RESNETS = {
    18: (basic_block, 1, (2, 2, 2, 2)),
    34: (basic_block, 1, (3, 4, 6, 3)),
    50: (Bottleneck, 4, (3, 4, 6, 3)),
    101: (Bottleneck, 4, (3, 4, 23, 3)),
    152: (Bottleneck, 4, (3, 8, 36, 3)),
}

GROUPED_RESNETS = {"resnext50_32x4d": {"groups": 32, "times": 2}, "wide_resnet50_2": {"times": 2}}


class ImagenetResNet(nn.Sequential):
    """He et al. 2016, section 4.1: 7x7 stem with max pooling, four stages. `form` is that of the bottleneck blocks."""

    def __init__(self, depth, sample, classes, norm=nn.BatchNorm2d, **form):
        block, expansion, counts = IMAGENET_RESNETS[depth]
        layers = [nn.Conv2d(sample[0], 64, 7, 2, 3, bias=False), norm(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        before = 64
        for stage, count in enumerate(counts):
            filters = 64 * 2**stage
            for i in range(count):
                layers.append(block(before, filters, 2 if stage > 0 and i == 0 else 1, norm=norm, **form))
                before = expansion * filters
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class InvertedResidual(nn.Sequential):
    """MobileNetV2's inverted residual: a 1x1 convolution widens, a depthwise 3x3 follows, a 1x1 narrows. A shortcut is added where the shape stays."""

    def __init__(self, before, after, stride, expansion):
        hidden = expansion * before
        layers = [*normed(before, hidden, 1)] if expansion > 1 else []
        super().__init__(*layers, *normed(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, after, 1, bias=False), nn.BatchNorm2d(after))
        self.has_shortcut = stride == 1 and before == after

    def forward(self, x):
        return super().forward(x) + x if self.has_shortcut else super().forward(x)


def normed(before, after, kernel, stride=1, groups=1, activation=nn.ReLU6, eps=1e-5):
    """A convolution with batch norm and an activation function."""
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
    return convolution, nn.BatchNorm2d(after, eps), activation(inplace=True)


class MobileNetV2(nn.Sequential):
    """Sandler et al. 2018; below 64 pixels a side two of its five strides are 1."""

    def __init__(self, sample, classes, dropout):
        small = min(sample[1:]) < 64
        layers, before = [*normed(sample[0], 32, 3, 1 if small else 2)], 32
        stages = ((1, 16, 1, 1), (6, 24, 2, 1 if small else 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
        for expansion, after, count, stride in stages:
            for i in range(count):
                layers.append(InvertedResidual(before, after, stride if i == 0 else 1, expansion))
                before = after
        layers += [*normed(before, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout)]
        super().__init__(*layers, nn.Linear(1280, classes))


def multiple_of_8(channels):
    """The nearest multiple of 8, but never more than a tenth below."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest


class Excitation(nn.Sequential):
    """Hu et al. 2018: each channel times a factor that two layers compute from the means of all channels."""

    def __init__(self, channels, squeezed, activation, scale):
        down, up = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        super().__init__(nn.AdaptiveAvgPool2d(1), down, activation(inplace=True), up, scale())

    def forward(self, x):
        return x * super().forward(x)


def without_some(y, share):
    """Stochastic depth: zeros for this share of the samples, the others scaled up for it."""
    return y * y.new_empty(len(y), 1, 1, 1).bernoulli_(1 - share).div_(1 - share)


class ExcitedResidual(nn.Sequential):
    """An inverted residual with squeeze-and-excitation, unless `squeezed` is 0; training leaves it out for a share `drop` of the samples."""

    def __init__(self, before, expanded, after, kernel, stride, activation, squeezed, squeeze, scale, drop=0, eps=1e-5):
        form = {"activation": activation, "eps": eps}
        layers = [*normed(before, expanded, 1, **form)] if expanded != before else []
        layers += normed(expanded, expanded, kernel, stride, expanded, **form)
        if squeezed:
            layers.append(Excitation(expanded, squeezed, squeeze, scale))
        super().__init__(*layers, nn.Conv2d(expanded, after, 1, bias=False), nn.BatchNorm2d(after, eps))
        self.has_shortcut = stride == 1 and before == after
        self.drop = drop

    def forward(self, x):
        y = super().forward(x)
        if not self.has_shortcut:
            return y
        return x + (without_some(y, self.drop) if self.training and self.drop > 0 else y)


# Kernel, channels in the middle and behind it, whether the activation is ReLU, stride, whether it excites channels.
MOBILENETS_V3 = {
    "mobilenet_v3_large": (
        1280,
        (
            (3, 16, 16, True, 1, False),
            (3, 64, 24, True, 2, False),
            (3, 72, 24, True, 1, False),
            (5, 72, 40, True, 2, True),
            *[(5, 120, 40, True, 1, True)] * 2,
            (3, 240, 80, False, 2, False),
            (3, 200, 80, False, 1, False),
            *[(3, 184, 80, False, 1, False)] * 2,
            (3, 480, 112, False, 1, True),
            (3, 672, 112, False, 1, True),
            (5, 672, 160, False, 2, True),
            *[(5, 960, 160, False, 1, True)] * 2,
        ),
    ),
    "mobilenet_v3_small": (
        1024,
        (
            (3, 16, 16, True, 2, True),
            (3, 72, 24, True, 2, False),
            (3, 88, 24, True, 1, False),
            (5, 96, 40, False, 2, True),
            *[(5, 240, 40, False, 1, True)] * 2,
            (5, 120, 48, False, 1, True),
            (5, 144, 48, False, 1, True),
            (5, 288, 96, False, 2, True),
            *[(5, 576, 96, False, 1, True)] * 2,
        ),
    ),
}


class MobileNetV3(nn.Sequential):
    """Howard et al. 2019; below 64 pixels a side the first two of its five strides are 1."""

    def __init__(self, name, sample, classes, dropout):
        small, eps = min(sample[1:]) < 64, 0.001
        features, blocks = MOBILENETS_V3[name]
        first = next(i for i, block in enumerate(blocks) if block[4] == 2)
        layers, before = [*normed(sample[0], 16, 3, 1 if small else 2, activation=nn.Hardswish, eps=eps)], 16
        for i, (kernel, expanded, after, relu, stride, excites) in enumerate(blocks):
            stride = 1 if small and i == first else stride
            squeezed = multiple_of_8(expanded / 4) if excites else 0
            activation = nn.ReLU if relu else nn.Hardswish
            layers.append(ExcitedResidual(before, expanded, after, kernel, stride, activation, squeezed, nn.ReLU, nn.Hardsigmoid, eps=eps))
            before = after
        layers += [*normed(before, 6 * before, 1, activation=nn.Hardswish, eps=eps), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        layers += [nn.Linear(6 * before, features), nn.Hardswish(inplace=True), nn.Dropout(dropout), nn.Linear(features, classes)]
        super().__init__(*layers)


# How many times as wide and as deep as the smallest one.
EFFICIENTNETS = {
    "efficientnet_b0": (1, 1),
    "efficientnet_b1": (1, 1.1),
    "efficientnet_b2": (1.1, 1.2),
    "efficientnet_b3": (1.2, 1.4),
    "efficientnet_b4": (1.4, 1.8),
}


class EfficientNet(nn.Sequential):
    """Tan and Le 2019; below 64 pixels a side the first two of its five strides are 1."""

    def __init__(self, name, sample, classes, dropout, drop):
        small = min(sample[1:]) < 64
        width, depth = EFFICIENTNETS[name]
        stages = ((1, 3, 1, 16, 1), (6, 3, 1 if small else 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))
        counts = [math.ceil(count * depth) for *_, count in stages]
        before = multiple_of_8(32 * width)
        layers, position = [*normed(sample[0], before, 3, 1 if small else 2, activation=nn.SiLU)], 0
        for (expansion, kernel, stride, channels, _), count in zip(stages, counts):
            after = multiple_of_8(channels * width)
            for i in range(count):
                rate = drop * position / sum(counts)
                shape = before, multiple_of_8(before * expansion), after, kernel, stride if i == 0 else 1
                layers.append(ExcitedResidual(*shape, nn.SiLU, before // 4, nn.SiLU, nn.Sigmoid, rate))
                before, position = after, position + 1
        layers += [*normed(before, 4 * before, 1, activation=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout)]
        super().__init__(*layers, nn.Linear(4 * before, classes))


# Channels and blocks of the four stages, and the rate of stochastic depth of the last block.
CONVNEXTS = {
    "convnext_tiny": ((96, 192, 384, 768), (3, 3, 9, 3), 0.1),
    "convnext_small": ((96, 192, 384, 768), (3, 3, 27, 3), 0.4),
    "convnext_base": ((128, 256, 512, 1024), (3, 3, 27, 3), 0.5),
    "convnext_large": ((192, 384, 768, 1536), (3, 3, 27, 3), 0.5),
}


class PixelNorm(nn.LayerNorm):
    """A layer norm of the channels of each pixel."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, channels, rate):
        super().__init__()
        self.filter = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.mix = nn.Sequential(
            nn.LayerNorm(channels, eps=1e-6), nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels)
        )
        self.scale = nn.Parameter(torch.full((channels, 1, 1), 1e-6))
        self.rate = rate

    def forward(self, x):
        y = self.scale * self.mix(self.filter(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return x + (without_some(y, self.rate) if self.training and self.rate > 0 else y)


class ConvNext(nn.Sequential):
    """Liu et al. 2022; below 64 pixels a side the first stride is 2."""

    def __init__(self, name, sample, classes, drop):
        channels, blocks, rate = CONVNEXTS[name]
        stem = dict(stride=2, padding=1) if min(sample[1:]) < 64 else dict(stride=4)
        layers, position = [nn.Conv2d(sample[0], channels[0], 4, **stem), PixelNorm(channels[0], eps=1e-6)], 0
        for stage, width in enumerate(channels):
            if stage > 0:
                layers += [PixelNorm(channels[stage - 1], eps=1e-6), nn.Conv2d(channels[stage - 1], width, 2, 2)]
            for _ in range(blocks[stage]):
                layers.append(ConvNextBlock(width, drop * rate * position / (sum(blocks) - 1)))
                position += 1
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(channels[-1], eps=1e-6), nn.Linear(channels[-1], classes)]
        super().__init__(*layers)


def unit(before, after, kernel, stride=1, padding=None):
    """A convolution with batch norm and ReLU, padded so that stride 1 keeps the size."""
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = tuple(side // 2 for side in sides) if padding is None else padding
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, padding, bias=False), nn.BatchNorm2d(after, eps=0.001), nn.ReLU(inplace=True)
    )


def units(before, *shapes):
    """Several of these, one after another: each by its filters, its kernel and, where it halves the image, its stride."""
    layers = []
    for after, kernel, *stride in shapes:
        layers.append(unit(before, after, kernel, *stride, *((0,) if stride else ())))
        before = after
    return nn.Sequential(*layers)


class Branches(nn.ModuleList):
    """The channels of all branches side by side."""

    def forward(self, x):
        return torch.cat([branch(x) for branch in self], 1)


class Inception(nn.Sequential):
    """Szegedy et al. 2016, without the auxiliary classifier."""

    def __init__(self, sample, classes, dropout):
        wide, high = (1, 7), (7, 1)

        def averaged(before, after):
            return nn.Sequential(nn.AvgPool2d(3, 1, 1), unit(before, after, 1))

        def mixed5(before, pooled):
            double = units(before, (64, 1), (96, 3), (96, 3))
            return Branches([units(before, (64, 1)), units(before, (48, 1), (64, 5)), double, averaged(before, pooled)])

        def mixed6(inner):
            single = units(768, (inner, 1), (inner, wide), (192, high))
            double = units(768, (inner, 1), (inner, high), (inner, wide), (inner, high), (192, wide))
            return Branches([units(768, (192, 1)), single, double, averaged(768, 192)])

        def split(before):
            return Branches([unit(before, 384, (1, 3)), unit(before, 384, (3, 1))])

        def mixed7(before):
            single, double = (
                nn.Sequential(units(before, (384, 1)), split(384)),
                nn.Sequential(units(before, (448, 1), (384, 3)), split(384)),
            )
            return Branches([units(before, (320, 1)), single, double, averaged(before, 192)])

        super().__init__(
            unit(sample[0], 32, 3, 2, 0),
            unit(32, 32, 3, 1, 0),
            unit(32, 64, 3),
            nn.MaxPool2d(3, 2),
            unit(64, 80, 1),
            unit(80, 192, 3, 1, 0),
            nn.MaxPool2d(3, 2),
            mixed5(192, 32),
            mixed5(256, 64),
            mixed5(288, 64),
            Branches([units(288, (384, 3, 2)), units(288, (64, 1), (96, 3), (96, 3, 2)), nn.MaxPool2d(3, 2)]),
            *(mixed6(inner) for inner in (128, 160, 160, 192)),
            Branches(
                [units(768, (192, 1), (320, 3, 2)), units(768, (192, 1), (192, wide), (192, high), (192, 3, 2)), nn.MaxPool2d(3, 2)]
            ),
            mixed7(1280),
            mixed7(2048),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(2048, classes),
        )


class ConvNet(nn.Sequential):
    """Crossbow's form of Caffe's cifar10_quick."""

    def __init__(self, sample, classes):
        height, width = sample[1:]
        for _ in range(3):
            height, width = ((side + 1) // 2 for side in (height, width))
        super().__init__(
            nn.Conv2d(sample[0], 32, 5, padding=2),
            nn.AvgPool2d(3, 2, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 32, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.AvgPool2d(3, 2, 1),
            nn.Conv2d(32, 64, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.AvgPool2d(3, 2, 1),
            nn.Flatten(),
            nn.Linear(64 * height * width, 64),
            nn.Linear(64, classes),
        )


class Vgg16(nn.Sequential):
    """Configuration D with batch norm; a hidden layer of 512 units in place of two of 4096 below 224 pixels."""

    def __init__(self, sample, classes, dropout):
        layers, before = [], sample[0]
        for after in (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512, "pool"):
            if after == "pool":
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(before, after, 3, 1, 1), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
            before = after
        layers.append(nn.Flatten())
        features = before * (sample[1] // 32) * (sample[2] // 32)
        for units in (4096, 4096) if min(sample[1:]) >= 224 else (512,):
            layers += [nn.Linear(features, units), nn.ReLU(inplace=True), nn.Dropout(dropout)]
            features = units
        super().__init__(*layers, nn.Linear(features, classes))


class AlexNet(nn.Sequential):
    """Krizhevsky 2014, without local response normalisation."""

    def __init__(self, sample, classes, dropout):
        height, width = sample[1:]
        for kernel, stride, padding in ((11, 4, 2), (3, 2, 0), (3, 2, 0), (3, 2, 0)):
            height, width = ((side + 2 * padding - kernel) // stride + 1 for side in (height, width))
        super().__init__(
            nn.Conv2d(sample[0], 64, 11, 4, 2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(256 * height * width, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, classes),
        )


class SelfAttention(nn.Module):
    """Queries, keys and values in one product; the fused attention where PyTorch has it."""

    def __init__(self, heads, width, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x, seen=None):
        """`seen` (N, T): the positions that are attended to."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, None if seen is None else seen[:, None, None], is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
            if self.causal:
                scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)
            if seen is not None:
                scores = scores.masked_fill(~seen[:, None, None], -torch.inf)
            y = scores.softmax(-1) @ v
        return self.projection(y.transpose(1, 2).reshape(batch, length, width))


class GptBlock(nn.Module):
    def __init__(self, heads, width, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), SelfAttention(heads, width, causal=True), nn.Dropout(dropout))
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.feed_forward(x)


class Gpt(nn.Module):
    """GPT-2's form over tokens (T): norms before the branches, the head tied to the embedding."""

    def __init__(self, sample, classes, dropout, layers=4, heads=4, width=128):
        super().__init__()
        self.tokens = nn.Embedding(classes, width)
        self.positions = nn.Embedding(sample[0], width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(GptBlock(heads, width, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02 / (2 * layers) ** 0.5 if "projection" in name or "3.weight" in name else 0.02)

    def forward(self, tokens):
        x = self.dropout(self.tokens(tokens) + self.positions.weight)
        return self.norm(self.blocks(x)) @ self.tokens.weight.t()


class VitBlock(nn.Module):
    def __init__(self, heads, width, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width, 1e-6), SelfAttention(heads, width, causal=False), nn.Dropout(dropout))
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width, 1e-6), nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.feed_forward(x)


class ClassAndPositions(nn.Module):
    """A token before the sequence, and a table over all positions."""

    def __init__(self, length, width):
        super().__init__()
        self.token = nn.Parameter(1e-6 * torch.randn(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + length, width))

    def forward(self, x):
        return torch.cat((self.token.expand(len(x), -1, -1), x), 1) + self.positions


class Vit(nn.Module):
    """Dosovitskiy et al. 2021: patches behind a class token, norms before the branches; patches of 4 pixels below 96 a side."""

    def __init__(self, sample, classes, dropout, layers=12, heads=3, width=192):
        super().__init__()
        channels, *sides = sample
        patch = 4 if min(sides) < 96 else 16
        self.patches = nn.Conv2d(channels, width, patch, patch)
        self.tokens = ClassAndPositions((sides[0] // patch) * (sides[1] // patch), width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(VitBlock(heads, width, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.tokens(self.patches(x).flatten(2).transpose(1, 2))
        return self.head(self.norm(self.blocks(self.dropout(x)))[:, 0])


class TextBlock(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = SelfAttention(heads, width, causal=False)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x, seen):
        x = x + self.attention(self.norm(x), seen)
        return x + self.feed_forward(x)


class TextClassifier(nn.Module):
    """An encoder over bytes (T), zeros behind the end of a text: masked attention, and the mean of the positions that are left."""

    def __init__(self, sample, classes, layers=2, heads=4, width=64):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.positions = nn.Embedding(sample[0], width)
        self.blocks = nn.ModuleList(TextBlock(heads, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        seen = tokens != 0
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x, seen)
        weights = seen.unsqueeze(-1).to(x.dtype)
        return self.head(self.norm((x * weights).sum(1) / weights.sum(1)))


class Recurrent(nn.Module):
    """A language model over tokens (T): an embedding, recurrent layers and a linear one; dropout before and behind each recurrent layer."""

    def __init__(self, cell, sample, classes, dropout, layers=2, width=256):
        super().__init__()
        self.encoder = nn.Embedding(classes, width)
        self.dropout = nn.Dropout(dropout)
        self.rnn = cell(width, width, layers, batch_first=True, dropout=dropout if layers > 1 else 0)
        self.decoder = nn.Linear(width, classes)

    def forward(self, tokens):
        states, _ = self.rnn(self.dropout(self.encoder(tokens)))
        return self.decoder(self.dropout(states))


RECURRENT = {"lstm": nn.LSTM, "gru": nn.GRU}
VITS = {"vit-tiny": (3, 192), "vit-small": (6, 384), "vit-base": (12, 768)}


def build(name, sample, classes, shortcut="A", dropout=0.5, **size):
    """The model of that name for samples (C, H, W), or tokens (T) for gpt, lstm, gru and text-classifier; the `size` of these and of a vision transformer may be given; ValueError for a name that is not known."""
    if name == "mlp":
        return Mlp(sample, classes)
    if name == "lenet":
        return LeNet(sample, classes)
    if name == "alexnet":
        return AlexNet(sample, classes, dropout)
    if name == "vgg16":
        return Vgg16(sample, classes, dropout)
    if name == "resnet50_gn":
        return ImagenetResNet(50, sample, classes, norm=in_groups(32))
    if name == "resnet20_gn":
        return ResNet(20, sample, classes, shortcut, in_groups(8))
    if name in GROUPED_RESNETS:
        return ImagenetResNet(50, sample, classes, **GROUPED_RESNETS[name])
    if name.startswith("resnet") and int(name[6:]) in IMAGENET_RESNETS:
        return ImagenetResNet(int(name[6:]), sample, classes)
    if name.startswith("resnet") and (int(name[6:]) - 2) % 6 == 0:
        return ResNet(int(name[6:]), sample, classes, shortcut)
    if name == "gpt":
        return Gpt(sample, classes, dropout, **size)
    if name in RECURRENT:
        return Recurrent(RECURRENT[name], sample, classes, dropout, **size)
    if name == "convnet":
        return ConvNet(sample, classes)
    if name == "inception_v3":
        return Inception(sample, classes, dropout)
    if name == "mobilenet_v2":
        return MobileNetV2(sample, classes, dropout)
    if name in MOBILENETS_V3:
        return MobileNetV3(name, sample, classes, dropout)
    if name in EFFICIENTNETS:
        return EfficientNet(name, sample, classes, dropout, 0.4 * dropout)
    if name in CONVNEXTS:
        return ConvNext(name, sample, classes, 2 * dropout)
    if name == "text-classifier":
        return TextClassifier(sample, classes, **size)
    if name in VITS:
        heads, width = VITS[name]
        return Vit(sample, classes, **{"dropout": dropout, "heads": heads, "width": width, **size})
    raise ValueError(f"model: received {name}; use mlp, gpt, text-classifier, lenet, alexnet, vgg16, mobilenet_v2, inception_v3, convnet, resnet18, 20, 32, 34, 44, 50, 56, 101, 110 or 152, resnet20_gn, resnet50_gn, {', '.join([*RECURRENT, *GROUPED_RESNETS, *MOBILENETS_V3, *EFFICIENTNETS, *CONVNEXTS, *VITS])}")
