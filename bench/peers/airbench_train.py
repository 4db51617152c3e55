"""Trains airbench94 (Keller Jordan, https://arxiv.org/abs/2404.00498; the package `airbench`) on CIFAR-10 from its binary files in ARBALEST_DATA.

Says {"ready": true} on stdout after its author's warm-up, or {"ready": false, "why": ...} where it cannot train; then answers each line `run SEED` with
{"seconds": OF TRAINING AND OF MEASURING, BY ITS OWN CLOCK, "wallSeconds": ..., "accuracy": OF SIX COPIES OF EACH TEST IMAGE, "plainAccuracy": ...}; ends with its
input. With --check it only says whether it can train.
"""

import argparse
import gzip
import importlib.util
import lzma
import os
import sys
import tempfile
import time
import types

from windows import say, serve

PACKAGE = "airbench"
FOLDERS = ("", "cifar-10", "cifar-10-batches-bin")
OPENERS = {"": open, ".gz": gzip.open, ".xz": lzma.open}
TRAIN, TEST = [f"data_batch_{part}.bin" for part in range(1, 6)], ["test_batch.bin"]
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
PIXELS = 3 * 32 * 32
COLUMNS = ("total_time_seconds", "tta_val_acc", "val_acc")


def obstacle():
    """Why airbench94 cannot be trained here, in one sentence; None where it can."""
    try:
        import torch
    except ImportError as error:
        return f"PyTorch: {error}"
    if not torch.cuda.is_available():
        return f"PyTorch {torch.__version__} finds no GPU"
    if importlib.util.find_spec(PACKAGE) is None:
        return f"this Python has no package {PACKAGE}; run bench/peers/setup"
    return None


def found(name, folder):
    """The bytes of a file, plain or packed, in the folder that the user gives or in one below it."""
    for below in FOLDERS:
        for ending, opened in OPENERS.items():
            path = os.path.join(folder, below, name + ending)
            if os.path.exists(path):
                with opened(path, "rb") as file:
                    return file.read()
    raise FileNotFoundError(f"ARBALEST_DATA: received {folder}, which has no {name}, nor in {', '.join(FOLDERS[1:])}; name the folder of CIFAR-10's binary files")


def tensors(names, folder):
    """Images (N, 32, 32, 3) of bytes and labels (N), as airbench keeps them."""
    import torch

    records = torch.cat([torch.frombuffer(bytearray(found(name, folder)), dtype=torch.uint8).view(-1, 1 + PIXELS) for name in names])
    images = records[:, 1:].reshape(-1, 3, 32, 32).permute(0, 2, 3, 1).contiguous()
    return {"images": images, "labels": records[:, 0].long(), "classes": CLASSES}


def prepare(data, work):
    """Writes the two files that airbench would make of torchvision's download, and works where it looks for them."""
    import torch

    os.makedirs(os.path.join(work, "cifar10"))
    torch.save(tensors(TRAIN, data), os.path.join(work, "cifar10", "train.pt"))
    torch.save(tensors(TEST, data), os.path.join(work, "cifar10", "test.pt"))
    os.chdir(work)


class Normalize:
    """torchvision's, where there is no torchvision: airbench needs nothing else of it once its files are there."""

    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, images):
        mean, std = (each.to(images)[:, None, None] for each in (self.mean, self.std))
        return (images - mean) / std


def ensure_torchvision():
    if importlib.util.find_spec("torchvision") is None:
        transforms = types.ModuleType("torchvision.transforms")
        transforms.Normalize = Normalize
        torchvision = types.ModuleType("torchvision")
        torchvision.transforms = transforms
        sys.modules.update({"torchvision": torchvision, "torchvision.transforms": transforms})


class Runs:
    """Trains, and keeps what airbench tells in its table."""

    def __init__(self):
        import airbench
        import airbench.utils

        self.airbench = airbench
        self.told = {}
        # It returns the network alone: time and accuracies are in the columns that it prints, which must not be on our standard output.
        airbench.utils.print_training_details = lambda variables, is_final_entry: self.keep(variables)
        airbench.utils.print_columns = lambda *_, **__: None

    def keep(self, variables):
        # Not the network and its tensors, which would hold the GPU's memory.
        self.told.update({name: variables[name] for name in COLUMNS if name in variables})

    def warm_up(self):
        self.airbench.warmup94()

    def run(self, seed):
        import torch

        torch.manual_seed(seed)
        self.told = {}
        begun = time.perf_counter()
        self.airbench.train94(run=seed)
        return {
            "seconds": self.told["total_time_seconds"],
            "wallSeconds": time.perf_counter() - begun,
            "accuracy": self.told["tta_val_acc"],
            "plainAccuracy": self.told["val_acc"],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only says whether it can train here")
    options = parser.parse_args()
    why = obstacle()
    if why is not None or options.check:
        say({"ready": why is None, "why": why})
        return
    with tempfile.TemporaryDirectory() as work:
        prepare(os.environ.get("ARBALEST_DATA", "data"), work)
        ensure_torchvision()
        runs = Runs()
        runs.warm_up()
        serve(lambda seed: runs.run(int(seed)))


if __name__ == "__main__":
    main()
