"""Steps of PyTorch's optimisers on gradients that are given: a problem as JSON on stdin, the weights after the last step on stdout."""
import json
import sys

import torch

KINDS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}


def trained(case, weights, gradients):
    parameters = [torch.nn.Parameter(torch.tensor(each, dtype=torch.float64)) for each in weights]
    grouped = {place for group in case.get("groups", []) for place in group["places"]}
    groups = [{"params": [each for i, each in enumerate(parameters) if i not in grouped]}]
    for group in case.get("groups", []):
        options = {name: value for name, value in group.items() if name != "places"}
        groups.append({"params": [parameters[place] for place in group["places"]], **options})
    optimiser = KINDS[case["kind"]](groups, **case["options"])
    for step in gradients:
        for parameter, gradient in zip(parameters, step):
            parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        if "clipNorm" in case:
            torch.nn.utils.clip_grad_norm_(parameters, case["clipNorm"])
        if "clipValue" in case:
            torch.nn.utils.clip_grad_value_(parameters, case["clipValue"])
        optimiser.step()
    return [value for parameter in parameters for value in parameter.flatten().tolist()]


problem = json.load(sys.stdin)
answers = {name: trained(case, problem["weights"], problem["gradients"]) for name, case in problem["cases"].items()}
json.dump({"torch": torch.__version__, "trained": answers}, sys.stdout)
