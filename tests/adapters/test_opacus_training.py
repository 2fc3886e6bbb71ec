"""Training with the real Opacus: its engine, its checkpoints, its search for noise, and canaries in its steps."""

import json
import warnings

import numpy as np
import pytest
from tests.needs import Later, needs

import quiltwork as qw
from quiltwork.adapters import from_opacus
from quiltwork.cli import main
from quiltwork.errors import InvalidParameter, Unsupported

pytestmark = [
    needs("opacus", "torch"),
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:GDP accounting is experimental"),
]
torch = Later("torch")
STEPS = 8 * qw.poisson(qw.gaussian(1.5), 0.25)  # two epochs of four batches


def examples(number, seed=0, width=5):
    rng = np.random.default_rng(seed)
    inputs = torch.tensor(rng.normal(size=(number, width)), dtype=torch.float32)
    return torch.utils.data.TensorDataset(inputs, (inputs[:, 0] > 0).long())


def private(accountant, data=None, **options):
    """An engine, a model, an optimizer and a loader, not trained yet."""
    from opacus import PrivacyEngine

    from quiltwork.adapters.opacus import Accountant  # which registers itself

    assert Accountant.mechanism() == "quiltwork"

    torch.set_num_threads(1)
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    loader = torch.utils.data.DataLoader(examples(40) if data is None else data, batch_size=10)
    engine = PrivacyEngine(accountant=accountant)
    settings = {"noise_multiplier": 1.5, "max_grad_norm": 1.0, **options}
    made = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader, **settings
    )
    return engine, *made


def trained(accountant, watch=None, **options):
    engine, model, optimizer, loader = private(accountant, **options)
    criterion = torch.nn.CrossEntropyLoss()
    if watch is not None:
        watch(model, optimizer, criterion)
    for _ in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()
    return engine, model, optimizer


@pytest.mark.parametrize("accountant", ["rdp", "prv", "gdp", "quiltwork"])
def test_engines_accountants_and_checkpoints(accountant, tmp_path, capsys):
    engine, model, optimizer = trained(accountant)
    state = engine.accountant.state_dict()
    assert from_opacus(engine) == from_opacus(engine.accountant) == from_opacus(state) == STEPS
    engine.save_checkpoint(path=tmp_path / "run.pt", module=model, optimizer=optimizer)
    assert from_opacus(torch.load(tmp_path / "run.pt", weights_only=True)) == STEPS
    (tmp_path / "state.json").write_text(json.dumps(state))
    answers = []
    for name in ("run.pt", "state.json"):
        assert main(["train", "--from-opacus", str(tmp_path / name), "--delta", "1e-5", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["stages"] == [{"noise_multiplier": 1.5, "sampling_rate": 0.25, "steps": 8}]
    assert answers[0]["epsilon"]["upper"] == STEPS.epsilon(1e-5, rtol=1e-3).upper


def test_files_that_are_no_record(tmp_path, capsys):
    (tmp_path / "weights.pt").write_bytes(b"PK and no archive")
    (tmp_path / "text").write_text("not a record")
    torch.save({"weights": torch.zeros(2)}, tmp_path / "model.pt")
    for name, words in (("weights.pt", "checkpoint"), ("text", "JSON"), ("model.pt", "'history'")):
        assert main(["train", "--from-opacus", str(tmp_path / name), "--delta", "1e-5"]) == 2
        assert words in capsys.readouterr().err


def test_the_engine_asks_our_accountant_by_name():
    engine, _, _ = trained("quiltwork")
    from quiltwork.adapters.opacus import Accountant

    assert type(engine.accountant) is Accountant
    bracket = STEPS.epsilon(1e-5, rtol=1e-6)
    assert bracket.lower <= engine.get_epsilon(1e-5) == bracket.upper
    assert len(engine.accountant) == 8


def test_a_checkpoint_goes_on(tmp_path):
    engine, model, optimizer = trained("quiltwork")
    engine.save_checkpoint(path=tmp_path / "run.pt", module=model, optimizer=optimizer)
    again, other, stepper, _ = private("quiltwork")
    again.load_checkpoint(path=tmp_path / "run.pt", module=other, optimizer=stepper)
    assert from_opacus(again) == STEPS


def test_noise_for_a_target():
    """`make_private_with_epsilon` searches with our accountant: the run stays within the target, and near it."""
    from opacus import PrivacyEngine

    from quiltwork.adapters.opacus import Accountant  # which registers itself

    assert Accountant.mechanism() == "quiltwork"

    model = torch.nn.Linear(5, 2)
    engine = PrivacyEngine(accountant="quiltwork")
    _, optimizer, _ = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(examples(40), batch_size=10),
        target_epsilon=3.0,
        target_delta=1e-5,
        epochs=2,
        max_grad_norm=1.0,
    )
    run = 8 * qw.poisson(qw.gaussian(optimizer.noise_multiplier), 0.25)
    assert 2.98 <= run.epsilon(1e-5).upper <= 3.0


def test_a_loader_that_shuffles_is_accounted_as_poisson_sampling():
    """What the tutorial warns of: the record is the same, and the price is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some versions warn of it
        engine, _, _ = trained("prv", poisson_sampling=False)
    assert from_opacus(engine) == STEPS
    assert qw.training(40, 10, 2, 1.5, "shuffle").epsilon(1e-5).lower > STEPS.epsilon(1e-5).upper


def test_the_gaussian_approximation_says_too_little():
    engine, _, _ = trained("gdp")
    assert engine.get_epsilon(1e-5) < STEPS.epsilon(1e-5).lower * 0.95


# ---- canaries


def canaries(number=6, seed=1):
    from quiltwork.adapters.opacus import Canaries

    return Canaries(examples(number, seed=7), seed=seed)


def test_coins_decide_who_takes_part(tmp_path):
    birds = canaries(200)
    data = birds.insert(examples(40))
    assert len(data) == 40 + birds.included.sum()
    assert len(birds) == 200
    taken = np.flatnonzero(birds.included)
    for place, bird in ((40, taken[0]), (len(data) - 1, taken[-1])):
        assert torch.equal(data[place][0], examples(200, seed=7)[int(bird)][0])
    assert (birds.included == canaries(200).included).all()
    birds.write(tmp_path / "scores.csv", np.arange(200))
    from quiltwork.audit.score_files import read_scores

    read = read_scores(tmp_path / "scores.csv")
    assert (read.member == birds.included).all()
    assert (read.values == np.arange(200)).all()


def test_scores_are_products_with_the_noisy_gradient():
    """One canary after the other, by plain autograd on a copy of the model."""
    birds, expected, seen = canaries(), np.zeros(6), []

    def watch(model, optimizer, criterion):
        import copy

        bare = copy.deepcopy(model).to_standard_module()
        birds.watch(model, optimizer, criterion)
        ours = optimizer.step_hook

        def check(stepping):
            ours(stepping)
            live = list(model.parameters())
            with torch.no_grad():
                for mine, theirs in zip(bare.parameters(), live, strict=True):
                    mine.copy_(theirs)
            for place, (x, y) in enumerate(examples(6, seed=7)):
                loss = criterion(bare(x[None]), y[None])
                gradient = torch.autograd.grad(loss, list(bare.parameters()))
                length = torch.sqrt(sum((g**2).sum() for g in gradient))
                product = sum((g * p.grad).sum() for g, p in zip(gradient, live, strict=True))
                expected[place] += float(product * min(1.0, 1.0 / float(length)))
            seen.append(len(stepping.params))

        optimizer.attach_step_hook(check)

    engine, model, _ = trained("quiltwork", watch)
    assert len(seen) == len(engine.accountant) == 8  # nothing was hidden from the accountant
    np.testing.assert_allclose(birds.scores, expected, rtol=1e-4, atol=1e-6)
    losses = birds.score_losses(model, torch.nn.CrossEntropyLoss())
    with torch.no_grad():
        inputs, targets = examples(6, seed=7).tensors
        each = torch.nn.functional.cross_entropy(model(inputs), targets, reduction="none")
    np.testing.assert_allclose(losses, -each.numpy(), rtol=1e-5)


def test_watching_changes_nothing_about_the_run():
    _, one, _ = trained("quiltwork")
    _, two, _ = trained("quiltwork", canaries().watch)
    for mine, theirs in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_what_canaries_refuse():
    from quiltwork.adapters.opacus import Canaries

    model = torch.nn.Linear(5, 2)
    with pytest.raises(InvalidParameter, match="make_private"):
        canaries().watch(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss())
    for bad in ([], 3, [1, 2], [(torch.zeros(2), 0), (torch.zeros(3), 0)]):
        with pytest.raises(InvalidParameter, match="examples"):
            Canaries(bad)
    _, made, optimizer, _ = private("rdp", clipping="per_layer", max_grad_norm=[1.0] * 4)
    with pytest.raises(Unsupported, match="by layer"):
        canaries().watch(made, optimizer, torch.nn.CrossEntropyLoss())
