"""Canaries for a training run with Opacus: examples put in by coins, and scores of an attacker who sees every step.

DP-SGD with all noisy gradients published is what the certificate is about, so that is what the attacker here looks at.
At each step it knows the parameters and the noisy gradient u.  A canary with clipped gradient g is in the batch or not:
u is larger by g, or it is not, under Gaussian noise of the same spread in all directions.  So <u, g> is what u tells of
this canary, and its score is the sum over all steps.

Reference: T. Steinke, M. Nasr and M. Jagielski, Privacy auditing with one (1) training run, 2023, white-box attack.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.audit import toss_coins, write_scores
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported

try:
    import torch
except ImportError:
    raise MissingExtra("torch", "game", "pip install opacus torch==2.13.0") from None

MOST_NUMBERS = 2**24  # of gradients of canaries at a time


class Canaries:
    """Examples that take part in training by a fair coin each, and what an attacker learns about the coins.

    `examples` is a dataset of pairs (input, target).  `insert` puts those with heads into the training set, `watch`
    scores all of them at every step of the optimizer, `write` leaves the file that `quiltwork audit --one-run` reads.
    `included` are the coins, `scores` the scores so far; larger speaks for included.
    """

    def __init__(self, examples: Any, seed: int | None = None) -> None:
        if not hasattr(examples, "__len__") or not hasattr(examples, "__getitem__") or not len(examples):
            raise InvalidParameter("examples", type(examples).__name__, "a dataset of pairs (input, target), not empty")
        try:
            pairs = [(one, two) for one, two in (examples[place] for place in range(len(examples)))]
            self._inputs, self._targets = (
                torch.stack([torch.as_tensor(x) for x in side]) for side in zip(*pairs, strict=True)
            )
        except (TypeError, ValueError, RuntimeError) as error:
            allowed = "pairs (input, target) of tensors or numbers, all of one shape"
            raise InvalidParameter("examples", type(examples).__name__, allowed, str(error)) from None
        self.included = toss_coins(len(examples), seed)
        self.scores: FloatArray = np.zeros(len(examples))
        self._examples = examples

    def __len__(self) -> int:
        """How many there are, included or not."""
        return len(self._examples)

    def insert(self, data: Any) -> Any:
        """The training set: `data`, and the canaries with heads."""
        chosen = torch.utils.data.Subset(self._examples, np.flatnonzero(self.included).tolist())
        return torch.utils.data.ConcatDataset([data, chosen])

    def watch(self, model: Any, optimizer: Any, criterion: Any) -> None:
        """Score all canaries at every step from now on: call it once, after `make_private`, with what it returned.

        `criterion` gives the loss of outputs and targets, as in training.  The accountant goes on to count its steps.
        """
        if not callable(getattr(optimizer, "attach_step_hook", None)) or not hasattr(model, "to_standard_module"):
            given = f"{type(model).__name__} and {type(optimizer).__name__}"
            hint = "canaries see the noisy gradients of Opacus"
            raise InvalidParameter("model and optimizer", given, "what make_private of Opacus returned", hint)
        if hasattr(optimizer, "max_grad_norms") or not isinstance(optimizer.max_grad_norm, (int, float)):
            because = "a canary's share of a step is known for one clipping norm of the whole gradient"
            raise Unsupported("scores of canaries with clipping norms by layer", because)
        observe = Observer(self, model, criterion)
        count = optimizer.step_hook

        def hook(stepping: Any) -> None:
            if count is not None:
                count(stepping)
            observe(float(stepping.max_grad_norm))

        optimizer.attach_step_hook(hook)

    def score_losses(self, model: Any, criterion: Any) -> FloatArray:
        """Scores of an attacker who sees only a finished model: the smaller the loss of a canary, the larger."""
        scores = np.zeros(len(self))
        with torch.no_grad():
            for place in range(len(self)):
                one = slice(place, place + 1)
                scores[place] = -float(criterion(model(self._inputs[one]), self._targets[one]))
        return scores

    def write(self, path: str | Path, scores: Any = None) -> None:
        """The file that `quiltwork audit --one-run` reads: the scores so far, or these, with the coins."""
        write_scores(path, self.scores if scores is None else scores, self.included)


class Observer:
    """Adds to the scores what one noisy gradient tells about each canary."""

    def __init__(self, canaries: Canaries, model: Any, criterion: Any) -> None:
        self.canaries, self.model, self.criterion = canaries, model, criterion
        self.twin = copy.deepcopy(model).to_standard_module().eval()  # the same function, without Opacus' hooks
        self.names = [name for name, one in self.twin.named_parameters() if one.requires_grad]
        numbers = sum(one.numel() for one in self.twin.parameters())
        self.chunk = max(1, MOST_NUMBERS // max(1, numbers))

    def __call__(self, norm: float) -> None:
        """Between the noise and the update: the parameters are those at which gradients were taken."""
        # a wrapped module names its parameters with a prefix, in the same order
        live = [one for one in self.model.parameters() if one.requires_grad]
        values = {name: one.detach() for name, one in zip(self.names, live, strict=True)}
        noisy = {name: one.grad.detach() for name, one in zip(self.names, live, strict=True)}

        def loss(parameters: Any, x: Any, y: Any) -> Any:
            outputs = torch.func.functional_call(self.twin, parameters, (x.unsqueeze(0),))
            return self.criterion(outputs, y.unsqueeze(0))

        def product(x: Any, y: Any) -> Any:
            gradient = torch.func.grad(loss)(values, x, y)
            length = sum(one.square().sum() for one in gradient.values()).sqrt()
            along = sum((one * noisy[name]).sum() for name, one in gradient.items())
            return along * torch.clamp(norm / (length + 1e-6), max=1.0)

        found = torch.func.vmap(product, chunk_size=self.chunk)(self.canaries._inputs, self.canaries._targets)
        self.canaries.scores = self.canaries.scores + found.detach().cpu().numpy().astype(float)
