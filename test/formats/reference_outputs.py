"""reference_outputs.py NAME FOLDER CLASSES SIDE: a model of torchvision or timm with random weights and statistics. Writes weights.safetensors by its own names,
inputs.f32 (2, 3, SIDE, SIDE) and outputs.f32 (2, CLASSES) of evaluation into FOLDER."""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

name, folder, classes, side = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.manual_seed(1)


def build():
    if name.startswith("vit"):
        import timm

        return timm.create_model(name, num_classes=classes, img_size=side)
    if name.endswith("_gn"):
        import timm

        return timm.create_model(name, num_classes=classes)
    import torchvision

    options = {"init_weights": False} if name == "inception_v3" else {}
    return torchvision.models.get_model(name, weights=None, num_classes=classes, **options)


model = build().eval()
norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
with torch.no_grad():
    # Biases that begin at 0 would hide where they go.
    for key, value in model.state_dict().items():
        if "running" in key:
            continue
        if value.dtype.is_floating_point and value.dim() == 1:
            value.mul_(1 + 0.2 * torch.rand_like(value)).add_(0.1 * torch.rand_like(value))
        elif value.dtype.is_floating_point and "token" in key:
            value.normal_(0, 0.5)
    # Statistics of one batch: with means of 0 and variances of 1 nothing of an image would reach the last layer of a deep network, and with those of other
    # weights its outputs would grow from layer to layer, and their errors with them.
    for norm in norms:
        norm.train().momentum = 1
    model(torch.randn(8, 3, side, side))
    for norm in norms:
        norm.eval()
    inputs = torch.randn(2, 3, side, side)
    save_file(model.state_dict(), folder / "weights.safetensors")
    outputs = model.double()(inputs.double()).float()
inputs.numpy().tofile(folder / "inputs.f32")
outputs.numpy().tofile(folder / "outputs.f32")
