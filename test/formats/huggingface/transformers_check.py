"""Models of the library transformers, with small configs and random weights.

transformers_check.py make FOLDER: folders of models with NAME.in and NAME.out beside them, a text, and tokens of texts.
transformers_check.py load MODEL IN OUT: the outputs of a folder for samples in the file IN.
transformers_check.py tokens MODEL TEXT: the tokens of a text, as JSON.
"""

import json
import os
import sys

import numpy
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
)

transformers.logging.set_verbosity_error()
torch.manual_seed(0)

SIDE = 64
TEXT = "The quick brown fox and the other end of the band jump over it. Don't stop, 1234!\n\n  Two spaces, ünïcödé 世界 🙂.\n" * 60
PIXELS = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7]}


def randomised(model):
    """Weights and statistics of which none is as at first."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3 if parameter.ndim < 2 else 0.1)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(std=0.3)
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2)
    return model.eval()


def tokenizer():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.post_processor = processors.ByteLevel(trim_offsets=False)
    end = "<|endoftext|>"
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[end], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator([TEXT], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=end, eos_token=end)


def write(folder, name, samples, outputs):
    samples.numpy().tofile(f"{folder}/{name}.in")
    outputs.detach().numpy().astype("<f4").tofile(f"{folder}/{name}.out")


def make(folder):
    fast = tokenizer()
    size = len(fast)

    def gpt2(name, base=False, shards="5GB", **changes):
        given = {"vocab_size": size, "n_positions": 32, "n_embd": 24, "n_layer": 2, "n_head": 3, "bos_token_id": 0, "eos_token_id": 0}
        model = randomised(GPT2LMHeadModel(GPT2Config(**{**given, **changes})))
        (model.transformer if base else model).save_pretrained(f"{folder}/{name}", max_shard_size=shards)
        fast.save_pretrained(f"{folder}/{name}")
        tokens = torch.randint(0, size, (3, 32))
        write(folder, name, tokens.int(), model(tokens).logits)
        return tokens

    def resnet(name, **config):
        images(name, ResNetForImageClassification(ResNetConfig(**config)))

    def images(name, model):
        randomised(model).save_pretrained(f"{folder}/{name}")
        with open(f"{folder}/{name}/preprocessor_config.json", "w") as file:
            json.dump({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": SIDE}, "crop_pct": 0.875, **PIXELS}, file)
        pixels = torch.rand(3, 3, SIDE, SIDE)
        write(folder, name, pixels, model(normalised(pixels, PIXELS)).logits)

    tokens = gpt2("gpt2")
    tokens.flatten()[: 3 * 16].int().numpy().tofile(f"{folder}/gpt2-16.in")
    gpt2("gpt2-sharded", shards="30KB")
    assert os.path.exists(f"{folder}/gpt2-sharded/model.safetensors.index.json")
    gpt2("gpt2-base", base=True)
    gpt2("gpt2-untied", tie_word_embeddings=False, n_inner=40, activation_function="gelu", layer_norm_epsilon=1e-3)
    gpt2("gpt2-padded", vocab_size=size + 12)
    resnet("resnet-bottleneck", embedding_size=8, hidden_sizes=[16, 32, 64], depths=[1, 2, 1], layer_type="bottleneck", num_labels=5)
    names = {0: "cat", 1: "dog", 2: "emu"}
    labels = {name: number for number, name in names.items()}
    resnet("resnet-basic", embedding_size=8, hidden_sizes=[8, 16], depths=[2, 1], layer_type="basic", id2label=names, label2id=labels)
    first = {"downsample_in_bottleneck": True, "downsample_in_first_stage": True}
    resnet("resnet-first", embedding_size=8, hidden_sizes=[16, 32], depths=[1, 2], layer_type="bottleneck", num_labels=5, **first)
    vit = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": SIDE, "patch_size": 16, "num_labels": 5}
    images("vit", ViTForImageClassification(ViTConfig(**vit, intermediate_size=56)))
    images("vit-tanh", ViTForImageClassification(ViTConfig(**vit, intermediate_size=96, hidden_act="gelu_new", layer_norm_eps=1e-3)))
    texts = [TEXT, "a\n\n b", " \t don't <|endoftext|> 世界", "123  456"]
    with open(f"{folder}/tokens.json", "w") as file:
        json.dump([{"text": text, "ids": fast(text, add_special_tokens=False)["input_ids"]} for text in texts], file)
    with open(f"{folder}/text.txt", "w") as file:
        file.write(TEXT)


def normalised(pixels, config):
    mean, std = (torch.tensor(config[name])[:, None, None] for name in ("image_mean", "image_std"))
    return (pixels - mean) / std


def whole(kind, path):
    model, told = kind.from_pretrained(path, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"], told
    return model.eval()


def load(path, samples, outputs):
    with open(f"{path}/config.json") as file:
        config = json.load(file)
    with torch.no_grad():
        if config["model_type"] == "gpt2":
            model = whole(AutoModelForCausalLM, path)
            assert model.config.bos_token_id in (None, *range(config["vocab_size"])), model.config
            assert model.config.eos_token_id in (None, *range(config["vocab_size"])), model.config
            tokens = torch.from_numpy(numpy.fromfile(samples, dtype="<i4")).long().reshape(-1, config["n_positions"])
            logits = model(tokens).logits
        else:
            model = whole(AutoModelForImageClassification, path)
            with open(f"{path}/preprocessor_config.json") as file:
                preprocessor = json.load(file)
            side = preprocessor["crop_size"]["height"]
            pixels = torch.from_numpy(numpy.fromfile(samples, dtype="<f4")).reshape(-1, 3, side, side)
            logits = model(normalised(pixels, preprocessor)).logits
    logits.numpy().astype("<f4").tofile(outputs)


command, *given = sys.argv[1:]
if command == "make":
    make(*given)
elif command == "load":
    load(*given)
else:
    print(json.dumps(AutoTokenizer.from_pretrained(given[0])(given[1], add_special_tokens=False)["input_ids"]))
