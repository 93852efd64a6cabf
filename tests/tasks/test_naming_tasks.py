"""Reader of wordings: trained on seen ones, it names the task of held-out ones."""

import re
from collections import Counter

import pytest
import torch

from clevrskills.sim.prompt import Prompt
from clevrskills.suites.clevrskills.wording_checks import KEYSTEPS, draw_layout
from clevrskills.tasks import task
from tests.tasks.scenes import TASKS


def sentences(seeds, held_out):
    """Plain sentences of layouts of both splits, and the numbers of their tasks."""
    texts, labels = [], []
    for number, key in enumerate(TASKS):
        made = task(key)
        for seed in seeds:
            for split in ("train", "test"):
                layout = draw_layout(made, seed, split)
                bodies = (*filter(None, layout.bodies), *layout.examples)
                for wording in made.wordings(layout):
                    if wording.held_out == held_out:
                        prompt = Prompt(wording.text, bodies, KEYSTEPS, names=(wording.names,))
                        texts.append(prompt.plain())
                        labels.append(number)
    return texts, torch.tensor(labels)


def grams(text):
    """Words, their beginnings, pairs of words, and pairs of beginnings with a word between."""
    words = ["<", *re.findall(r"[\w'-]+|[:?]", text.lower()), ">"]
    stems = [word[:5] for word in words]
    return {
        *words,
        *(f"{stem}-" for stem in stems),
        *(f"{a} {b}" for a, b in zip(words, words[1:], strict=False)),
        *(f"{a} _ {b}" for a, b in zip(stems, stems[2:], strict=False)),
    }


class Reader(torch.nn.Module):
    """Logistic regression on which grams a text has.

    Args:
        texts: Texts from whose grams it takes those that are not rare.
        least: In how many texts a gram is, at least.
    """

    def __init__(self, texts, least):
        super().__init__()
        counts = Counter(gram for text in texts for gram in grams(text))
        self.index = {g: k for k, g in enumerate(g for g, n in counts.items() if n >= least)}
        self.weight = torch.nn.EmbeddingBag(len(self.index), len(TASKS), mode="sum")
        torch.nn.init.zeros_(self.weight.weight)
        self.bias = torch.nn.Parameter(torch.zeros(len(TASKS)))

    def read(self, text):
        """Numbers of its grams; in the order of their numbers, as sets have none."""
        return torch.tensor(sorted(self.index[g] for g in grams(text) if g in self.index))

    def forward(self, rows, kept=1.0):
        if kept < 1.0:
            rows = [row[torch.rand(len(row)) < kept] for row in rows]
        starts = torch.tensor([0, *(len(row) for row in rows[:-1])]).cumsum(0)
        lengths = torch.tensor([float(max(1, len(row))) for row in rows])
        return 3.0 * self.weight(torch.cat(rows), starts) / lengths.sqrt()[:, None] + self.bias


@pytest.mark.slow
def test_a_small_reader_of_seen_wordings_names_the_task_of_held_out_ones():
    torch.manual_seed(0)
    scenes = 20
    texts, labels = sentences(range(scenes), held_out=False)
    reader = Reader(texts, least=scenes)
    seen = [reader.read(text) for text in texts]
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.02)
    for _ in range(8):
        for batch in torch.randperm(len(seen)).split(512):
            optimizer.zero_grad()
            named = reader([seen[k] for k in batch.tolist()], kept=0.8)
            loss = torch.nn.functional.cross_entropy(named, labels[batch])
            (loss + 1e-5 * (reader.weight.weight**2).sum()).backward()
            optimizer.step()
    asked, meant = sentences(range(100, 108), held_out=True)
    with torch.no_grad():
        named = reader([reader.read(text) for text in asked]).argmax(dim=1)
    wrong = [
        (TASKS[int(m)], TASKS[int(n)], text)
        for text, m, n in zip(asked, meant, named, strict=True)
        if m != n
    ]
    assert len(wrong) <= 0.01 * len(asked), wrong[:20]
