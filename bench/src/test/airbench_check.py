"""Trains airbench94 on few images with a CPU in the place of the GPU, to see that it gets its data and that its figures are found. Needs the package airbench."""

import contextlib
import os
import random
import tempfile
import time

import torch

import airbench_train as peer


class Event:
    """Of torch.cuda, by the clock of the processor."""

    def __init__(self, enable_timing):
        pass

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return 1000 * (other.at - self.at)


def records(count):
    return b"".join(bytes([i % 10]) + random.randbytes(peer.PIXELS) for i in range(count))


def main():
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        data, work = os.path.join(folder, "data"), os.path.join(folder, "work")
        os.makedirs(os.path.join(data, "cifar-10-batches-bin"))
        for name in peer.TRAIN + peer.TEST:
            with peer.lzma.open(os.path.join(data, "cifar-10-batches-bin", name + ".xz"), "wb", preset=0) as file:
                file.write(records(8))
        first = peer.found(peer.TRAIN[0], data)
        peer.prepare(data, work)
        train = torch.load("cifar10/train.pt")
        assert train["images"].shape == (40, 32, 32, 3) and train["labels"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7] * 5
        # A record has the label, then the red plane, the green one and the blue one, row by row.
        assert train["images"][0, 2, 5].tolist() == [first[1 + plane * 1024 + 2 * 32 + 5] for plane in range(3)]
        print("ok the images are as airbench keeps them")

        with contextlib.suppress(FileNotFoundError):
            peer.found("data_batch_9.bin", data)
            raise AssertionError("a file that is not there was found")
        print("ok a missing file is an error")

        peer.ensure_torchvision()
        runs = peer.Runs()
        load = torch.load
        torch.load = lambda path, map_location: load(path)
        torch.cuda.Event, torch.cuda.synchronize = Event, lambda: None
        torch.nn.Module.cuda = lambda module: module
        # The dictionary is the default of its function that makes the network.
        runs.airbench.lib_airbench94.hyp["net"]["widths"].update(block1=8, block2=8, block3=8)
        loader = runs.airbench.CifarLoader
        sizes = {"batch_size": 8}
        for module in (runs.airbench.utils, runs.airbench.lib_airbench94):
            module.CifarLoader = lambda *args, **kwargs: loader(*args, **{**kwargs, **sizes})
        normalised = loader("cifar10", train=False, batch_size=8)
        means = normalised.normalize(normalised.images).float().mean((0, 2, 3))
        expected = (normalised.images.float().mean((0, 2, 3)) - torch.tensor((0.4914, 0.4822, 0.4465))) / torch.tensor((0.2470, 0.2435, 0.2616))
        assert torch.allclose(means, expected, atol=0.02), (means, expected)
        print("ok images are normalised")
        runs.warm_up()
        result = runs.run(3)
        assert set(result) == {"seconds", "wallSeconds", "accuracy", "plainAccuracy"}, result
        assert 0 < result["seconds"] <= result["wallSeconds"], result
        assert all(8 * result[name] == int(8 * result[name]) for name in ("accuracy", "plainAccuracy")), result
        print("ok its figures are found")
        os.chdir(folder)


if __name__ == "__main__":
    main()
