"""PPO fine-tuning of a compact policy: what a subgoal aims at is learned from progress.

    python benchmarks/finetune.py rotate_restore --out runs/restore
    python benchmarks/finetune.py match_pose --out runs/pose
    clevrskills evaluate --policy checkpoint:runs/restore rotate_restore --episodes 50 --out scores

An action is an output of perception that decides a subgoal, see :data:`HEADS`; its reward is the
gain in progress until the next one (PPO, Schulman et al. 2017, arXiv 1707.06347). In training it is
sampled: angles by their logits after the first subgoal, whose angle is kept as it is; poses from a
Gaussian. Episodes are drawn from ``train``, none of them is frozen.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent, Normal
from torch.nn import functional

from clevrskills.baselines import load
from clevrskills.baselines.checkpoint import describe, write
from clevrskills.baselines.policies.compact.policy import CompactPolicy
from clevrskills.core import checkpoint
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.rollout import PolicyRollout, Rules
from clevrskills.jobs.arguments import check_names

SEEDS = 100_000
"""Distance between the first episodes of two seeds."""
MOST_RATIO, TARGET_KL, MINIBATCH, MAX_GRADIENT = 3.0, 0.2, 48, 0.5
"""Greatest ratio of probabilities, larger than usual as good angles are rare at first; KL
divergence that ends an update; decisions of a gradient step; greatest norm of a gradient."""
KEPT, KEPT_WEIGHT = 300, 0.3
"""Number of angles of first subgoals that are kept, and weight of their cross-entropy."""
VALUE_RATE = 0.2
"""Learning rate of the value function, divided by its inputs."""
WINDOW = 96
"""Episodes of the printed success rates."""


@dataclass
class Args:
    """Settings of fine-tuning."""

    task: Annotated[str, tyro.conf.Positional]
    """Key of the task: ``rotate_restore`` (angles) or ``match_pose`` (poses)."""
    out: Path
    """Folder of the fine-tuned checkpoint."""
    begin_with: str = "zoo/compact-l0"
    """Checkpoint to begin with, of a compact policy."""
    episodes: int = 768
    head_starts: float = 0.0
    """Probability that an episode begins after its first subgoal."""
    batch: int = 96
    """Episodes between updates."""
    epochs: int = 4
    gamma: float = 0.5
    """Discount factor from subgoal to subgoal."""
    seed: int = 0


@dataclass
class Decision:
    """Sampled output of a subgoal."""

    inputs: Any
    output: Tensor  # (1,) or (1, 9)
    log_prob: Tensor  # (1,)
    progress: float = 0.0  # before it
    target: float = 0.0  # discounted gain in progress after it


class Head(nn.Module):
    """Head of a policy whose outputs are sampled.

    Args:
        policy: The policy; the head replaces its own.

    Attributes:
        last: The latest decision.
    """

    subgoals = 1  # after which an episode ends in training

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.last: Decision | None = None

    def rates(self) -> list[dict[str, Any]]:
        """Return the trained parameters with their learning rates."""
        raise NotImplementedError

    def features(self, inputs: Sequence[Any]) -> Tensor:
        """Return the features (n, D) of n inputs."""
        raise NotImplementedError

    def distribution(self, features: Tensor) -> Distribution:
        """Return the distribution of outputs for features (n, D)."""
        raise NotImplementedError

    def kept_loss(self) -> Tensor:
        """Return the loss of outputs that are to stay."""
        return torch.zeros(())

    def decide(self, inputs: Any, features: Tensor) -> Tensor:
        """Return a sampled output (1, ...), and record the decision."""
        chosen = self.distribution(features)
        output: Tensor = chosen.sample()
        self.last = Decision(inputs, output, chosen.log_prob(output))
        return output


class AngleHead(Head):
    """Angle of the next subgoal. Logits are scaled down first, so that other angles are sampled."""

    subgoals, temperature = 2, 8.0

    def __init__(self, policy: Any) -> None:
        super().__init__(policy)
        self.policy, self.initial = [policy], copy.deepcopy(policy.reader.angle)
        self.read, policy.reader.read = policy.reader.read, self._read
        self.head = policy.reader.angle
        for parameter in [*self.head.modules()][-1].parameters():
            parameter.data /= self.temperature
        self.kept: list[tuple[Any, Tensor]] = []
        policy.reader.angle = self

    def _read(self, *inputs: Any) -> Any:
        self.inputs = inputs
        return self.read(*inputs)

    def rates(self) -> list[dict[str, Any]]:
        reader = self.policy[0].reader
        parts = (self.head, 1e-3), (reader.count, 1e-2), (reader.transformer.layers[-1], 2e-4)
        return [{"params": [*part.parameters()], "lr": rate} for part, rate in parts]

    def features(self, inputs: Sequence[Any]) -> Tensor:
        return torch.cat([self.read(*each).whole for each in inputs])

    def distribution(self, features: Tensor) -> Distribution:
        return Categorical(logits=self.head(features))

    def kept_loss(self) -> Tensor:
        self.kept = self.kept[-KEPT:]
        if not self.kept:
            return torch.zeros(())
        some = [self.kept[k] for k in torch.randint(len(self.kept), (MINIBATCH // 3,)).tolist()]
        logits = self.head(self.features([inputs for inputs, _ in some]))
        return KEPT_WEIGHT * functional.cross_entropy(logits, torch.cat([a for _, a in some]))

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (1, ANGLES): those of a sampled angle after the first subgoal."""
        logits: Tensor = self.head(features)
        if not self.policy[0]._episodes[0].done:
            self.kept.append((self.inputs, self.initial(features).argmax(-1)))
            return logits
        return functional.one_hot(self.decide(self.inputs, features), logits.shape[-1]).float()


class PoseHead(Head):
    """Pose of the end effector in a key-step image, in units of the network."""

    std = 0.03

    def __init__(self, policy: Any) -> None:
        super().__init__(policy)
        self.head, policy.poser.tell = policy.poser.tell, self

    def rates(self) -> list[dict[str, Any]]:
        return [{"params": [*self.head.parameters()], "lr": 3e-6}]

    def features(self, inputs: Sequence[Any]) -> Tensor:
        return torch.cat([*inputs])

    def distribution(self, features: Tensor) -> Distribution:
        return Independent(Normal(self.head(features), self.std), 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return a sampled pose (1, 9)."""
        return self.decide(features, features)


HEADS: dict[str, type[Head]] = {"rotate_restore": AngleHead, "match_pose": PoseHead}
"""What each task is fine-tuned on."""


class Learner:
    """PPO of a head.

    Args:
        policy: The policy.
        args: The settings.
    """

    def __init__(self, policy: Any, args: Args) -> None:
        self.args, self.policy = args, policy
        policy.requires_grad_(False)
        policy._without_gradients = _without_gradients  # inference tensors cannot be trained on
        self.head = HEADS[args.task](policy)
        rates = self.head.rates()
        for group in rates:
            for parameter in group["params"]:
                parameter.requires_grad_(True)
        self.trained = [parameter for group in rates for parameter in group["params"]]
        width = self.trained[0].shape[1]
        self.value = nn.Linear(width, 1)
        nn.init.zeros_(self.value.weight)
        value = {"params": [*self.value.parameters()], "lr": VALUE_RATE / width}
        self.optimizer = torch.optim.Adam([*rates, value])
        self.decisions: list[Decision] = []

    def run(self, rollout: Any, done: int) -> None:
        """Act in an episode, of which some subgoals are done, until its last one in training."""
        head, decisions = self.head, list[Decision]()
        self.policy.reset({0: rollout.prompt})
        episode = self.policy._episodes[0]
        episode.done = done
        while not rollout.ended and episode.done < head.subgoals:
            head.last, progress = None, float(rollout.env.outcome.progress[0])
            rollout.go_on(self.policy.act({0: rollout.observation})[0])
            if head.last is not None:
                decisions.append(replace(head.last, progress=progress))
        after, target = float(rollout.env.outcome.progress[0]), 0.0
        for decision in reversed(decisions):
            target = after - decision.progress + self.args.gamma * target
            after, decision.target = decision.progress, target
        self.decisions += decisions

    def update(self) -> dict[str, float]:
        """Update the head; return metrics by name."""
        decisions, self.decisions, kl = self.decisions, [], 0.0
        outputs, old = (
            torch.cat([getattr(each, name) for each in decisions])
            for name in ("output", "log_prob")
        )
        targets = torch.tensor([each.target for each in decisions])
        for _ in range(self.args.epochs):
            if kl > TARGET_KL:
                break
            for index in torch.randperm(len(targets)).split(MINIBATCH):
                features = self.head.features([decisions[k].inputs for k in index.tolist()])
                errors = self.value(features.detach())[:, 0] - targets[index]
                advantages = -errors.detach()
                advantages = advantages / (advantages.std(correction=0) + 1e-3)
                log_probs = self.head.distribution(features).log_prob(outputs[index])
                log_ratio = log_probs - old[index].detach()
                ratio = log_ratio.exp()
                cut = ratio.clamp(1 / MOST_RATIO, MOST_RATIO)
                gains = torch.minimum(ratio * advantages, cut * advantages)
                loss = 0.5 * (errors**2).mean() - gains.mean() + self.head.kept_loss()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.trained, MAX_GRADIENT)
                self.optimizer.step()
                kl = float((ratio.detach() - 1 - log_ratio.detach()).mean())
        return {"gain": float(targets.mean()), "kl": kl, "decisions": len(targets)}


def _without_gradients(call: Any, *args: Any) -> Any:
    with torch.no_grad():
        return call(*args)


def main(args: Args) -> None:
    """Fine-tune a checkpoint, and write the result."""
    check_names(task=((args.task,), HEADS))
    if not 0.0 <= args.head_starts <= float(HEADS[args.task].subgoals > 1):
        raise ClevrSkillsError(
            f"--head-starts {args.head_starts}; allowed: 0 to 1, and 0 for poses"
        )
    if args.out.exists():
        raise ClevrSkillsError(f"{args.out} exists; name a new folder")
    policy: Any = load(args.begin_with, "cpu")
    if not isinstance(policy, CompactPolicy):
        raise ClevrSkillsError(f"{args.begin_with} is no compact policy")
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True)
    suite, learner, shown = load_suite(), Learner(policy, args), policy.observation
    env: Any = suite.make(
        EnvConfig(args.task, cameras=shown.cameras, size_px=shown.size_px, look=shown.look)
    )
    reset, steps, solved = env.reset, 0, {False: list[bool](), True: list[bool]()}
    for number in range(args.episodes):
        ahead = bool(torch.rand(()) < args.head_starts)
        start = {"head_start": 0.5 * ahead}
        env.reset = lambda options, start=start: reset(options={**options, **start})
        episode = suite.draw(args.task, "train", SEEDS * (1 + args.seed) + number)
        rollout = PolicyRollout(env, episode, shown, Rules(), suite, on_demand=True)
        learner.run(rollout, int(ahead))
        solved[ahead].append(rollout.success_once)
        steps += rollout.steps
        if (number + 1) % args.batch == 0 and learner.decisions:
            metrics = learner.update()
            recent = [f"{sum(s[-WINDOW:])} of {len(s[-WINDOW:])}" for s in solved.values()]
            print(
                f"{number + 1} episodes, {steps} steps, {time.process_time():.0f} CPU-s: solved"
                f" {recent[0]}, after head starts {recent[1]},",
                *(f"{name} {value:.3g}" for name, value in metrics.items()),
                flush=True,
            )
    about = describe(checkpoint.find(Path(args.begin_with)))
    weights = {
        name.replace(".angle.head.", ".angle.").replace(".tell.head.", ".tell."): value
        for name, value in policy.state_dict().items()
        if ".angle.initial." not in name
    }
    policy = load(args.begin_with, "cpu")
    policy.load_state_dict(weights)
    tasks = sorted({*about.provenance.get("tasks", ()), args.task})
    settings = {**asdict(args), "out": args.out.name, "steps": steps}
    about = replace(about, provenance={**about.provenance, "tasks": tasks, "ppo": settings})
    write(args.out, policy, about)


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
