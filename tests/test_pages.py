"""Pages: links lead somewhere, commands can be read, code can be compiled and imported."""

import ast
import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from clevrskills.cli import COMMANDS, find_command, main
from clevrskills.jobs.options import parse
from clevrskills.solvers.requirements import planner_obstacle

ROOT = Path(__file__).parents[1]
PAGES = {
    str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
    for folder in (".", "docs", "docs/recipes", "integrations")
    for file in sorted((ROOT / folder).glob("*/*.md" if folder == "integrations" else "*.md"))
}
PROGRAMS = {
    *("accelerate", "apt-get", "uv", "cd", "clevrskills", "cp", "exec", "export", "git", "inspect"),
    *(
        "lerobot-eval",
        "lerobot-train",
        "llama-server",
        "make",
        "pip",
        "pre-commit",
        "python",
        "ray",
        "source",
    ),
    *("tensorboard", "vla-eval", "vllm"),
}
"""Programs that pages call."""
SCRIPTS = r"(?:benchmarks|examples|docs|tests|recipes)/\w+\.(?:py|md|sh)"
RUN_IDS = [name for name, text in PAGES.items() if "```bash" in text]


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    kept = [re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in kept}


def lines(text: str) -> Iterator[str]:
    """Commands of the shell blocks, one to a line, without comments."""
    for block in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(^|\s)#.*$", "", line).strip()
            if command and not re.match(r"[A-Z_]+=", command):
                yield from (part.strip() for part in re.split(r"[;&](?=\s|$)", command) if part)


@cache
def options(command: str) -> set[str]:
    """Options of a command, as its help lists them."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit):
        parse(find_command(command)[0], ["--help"])
    return set(re.findall(r"--[a-z][a-z0-9-]*", shown.getvalue()))


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    text = PAGES[name]
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target
    for script in re.findall(r"(?<![\w/(])" + SCRIPTS, text):
        assert (ROOT / script).exists(), script
    for module in re.findall(r"`(clevrskills/[\w/]+\.py)`", text):
        new = name == "CONTRIBUTING.md" and f"`{module}`:" in text  # the files that it adds
        assert new or (ROOT / module).exists(), module
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"[`\n]make ([a-z-]+)", text)) <= targets


@cache
def tracked() -> set[str]:
    """Return the top-level names of the repository, without the output of earlier commands."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return {Path(line).parts[0] for line in listed.stdout.splitlines()}


@pytest.mark.parametrize("name", RUN_IDS)
def test_commands_can_be_read(name: str, tmp_path: Path) -> None:
    for line in lines(PAGES[name]):
        words = shlex.split(re.sub(r"\$SLURM\w+", "8", line))
        if words[0].startswith("recipes/"):
            assert (ROOT / words[0]).exists() and len(words) == 2, line
            continue
        if words[0].endswith("/bin/clevrskills"):  # of an environment
            words[0] = "clevrskills"
        assert words[0] in PROGRAMS, line
        if "clevrskills" in words[:4] and words[0] in ("clevrskills", "exec", "accelerate"):
            command, *arguments = words[words.index("clevrskills") + 1 :]
            parse(find_command(command)[0], arguments)
            out = arguments[arguments.index("--out") + 1] if "--out" in arguments else "elsewhere"
            assert Path(out).parts[0] not in tracked(), line
        elif words[0] == "python":
            assert words[1] == "-m" or (ROOT / words[1]).exists(), line


@pytest.mark.parametrize("name", PAGES)
def test_commands_within_the_text_have_the_options_that_are_named(name: str) -> None:
    for command, rest in re.findall(r"`clevrskills ([a-z-]+)([^`]*)`", PAGES[name]):
        assert any(command in names for names in COMMANDS.values()), command
        assert set(re.findall(r"--[a-z][a-z0-9-]*", rest)) <= options(command), (command, rest)


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if "```python" in text])
def test_code_compiles_and_its_imports_work(name: str) -> None:
    for block in re.findall(r"^```python\n(.*?)^```$", PAGES[name], re.MULTILINE | re.DOTALL):
        tree = compile(block, name, "exec", ast.PyCF_ONLY_AST)
        assert isinstance(tree, ast.Module)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clevrskills"):
                if "beside" in node.module or "sb3" in node.module:  # new there, needs an extra
                    continue
                exec(compile(ast.Module([node], []), name, "exec"), {})


@pytest.mark.parametrize("name", [name for name in PAGES if name != "docs/tasks.md"])
def test_pages_use_the_words_of_the_field(name: str) -> None:
    text = without_code(PAGES[name])
    assert not re.search(r"\bpictures?\b", text, re.IGNORECASE)
    assert "``" not in text and not re.search(r":(class|func|meth|data|mod):", PAGES[name])


WRITTEN = [name for name in PAGES if name not in ("CHANGELOG.md", "docs/api.md", "docs/tasks.md")]
"""Pages whose sentences are checked: all but the list of changes and those made of docstrings."""
SENTENCE_WORDS, MEAN_WORDS = 30, 18


def sentences(text: str) -> list[str]:
    """Sentences of a page outside code, tables and headings; an item of a list ends one."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->|`[^`\n]+`(?=`)", "", text, flags=re.M | re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"`[^`]+`", "code", re.sub(r"\]\([^)]*\)", "]", text))
    blocks = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) |^#.*$|^\s*\|.*$", text, flags=re.M)
    found = [s for block in blocks for s in re.split(r"(?<=[.!?])[)*]*\s+", block)]
    return [" ".join(s.split()) for s in found if re.search(r"[A-Za-z]{2}", s)]


@pytest.mark.parametrize("name", WRITTEN)
def test_sentences_are_short(name: str) -> None:
    counts = {s: len(re.findall(r"\w[\w.,'%-]*", s)) for s in sentences(PAGES[name])}
    assert not {s: n for s, n in counts.items() if n > SENTENCE_WORDS}
    assert sum(counts.values()) <= MEAN_WORDS * len(counts)


def test_the_suite_of_the_page_is_the_one_that_is_tested() -> None:
    code = re.findall(r"^```python\n(.*?)^```$", PAGES["docs/suites.md"], re.M | re.S)
    lamps = ROOT / "tests" / "suites" / "toy_suite" / "lamps.py"
    assert code == [lamps.read_text(encoding="utf-8")], "run python docs/build.py suites"


# --- slow: commands that are really run


def run(*words: object) -> None:
    assert main([*map(str, words)]) == 0


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))
def test_five_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part = PAGES["docs/install.md"].split("\n## Five minutes\n")[1].split("\n## ")[0]
    for line in lines(part):
        run(*shlex.split(line)[1:])
    assert (tmp_path / "page.html").stat().st_size > 100_000
    run("report", "scores")


SMALL = {
    **{"--episodes": "1", "--steps": "2", "--total-steps": "64", "--workers": "1", "--video": "1"},
    **{"--replay": "1", "--evaluate-every": "2", "--num-envs": "2", "--size": "64"},
}
"""Values of options in the tests, in place of those of the pages."""
ELSEWHERE = (
    *("--driver ray", "SLURM", "serve ", "openpi://", "accelerate ", "--policy octo"),
    *("put_beside", "--package", "lamps", "random ", "curriculum", "blind:", "mine:"),
    *("chat:http", "chat-stub", "results_lerobot", "--sequential"),
    *("--episode sort", "--standard", "scenes "),
)
"""What commands contain that other tests run, beside a server, a cluster or published weights."""
MINE = """
class MyPolicy:
    def __init__(self, checkpoint=""): ...
    def reset(self, prompt): ...
    def act(self, observation): return [0.0] * 7
"""


def cut_down(line: str) -> list[str]:
    """A command of a page, with less to do."""
    words = shlex.split(line)[1:]
    for k, word in enumerate(words[:-1]):
        words[k + 1] = SMALL.get(word, words[k + 1])
    if words[0] == "train":
        words += ["--cpu", "--log-every", "1", "--evaluate-episodes", "1"]
        words += ["--set", "batch_size=2"] + ["--configuration", "tiny"] * ("--from" not in words)
    if words[0] == "dagger":
        words += ["--cpu", "--set", "batch_size=2", "--task", "touch"]
    if words[0] == "rl":
        words += ["--num-envs", "2", "--rollout-steps", "16", "--minibatch", "16"]
    for names, option in ((("generate", "evaluate"), "--episodes"), (("train",), "--steps")):
        if words[0] in names and option not in words:
            words += [option, SMALL[option]]
    if words[0] in ("generate", "evaluate") and "--level" in words:
        words = [w for k, w in enumerate(words) if "--level" not in words[max(k - 1, 0) : k + 1]]
        words.append("pick")
    return words


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))
@pytest.mark.parametrize(
    "name",
    [
        *("agents", "datasets", "evaluation", "formats", "generation", "language"),
        *("rl", "training"),
    ],
)
def test_commands_of_the_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with less to do, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    for module in ("my_policy", "my_module"):
        (tmp_path / f"{module}.py").write_text(MINE)
    first = {"formats": ["sort"], "training": ["touch", "simple_manipulation"]}
    if name in ("datasets", "formats", "training"):
        run("generate", *first.get(name, ["pick"]), "--episodes", 1, "--out", "demos")
    if name == "datasets":
        run("generate", "pick", "--episodes", 1, "--seed", 1, "--out", "more_demos")
    if name == "evaluation":
        for folder in ("baseline", "mine"):
            run("evaluate", "--policy", "zero", "pick", "--episodes", 1, "--out", folder)
    done = 0
    for line in lines(PAGES[f"docs/{name}.md"]):
        if line.startswith("clevrskills ") and not any(part in line for part in ELSEWHERE):
            words = cut_down(line)
            if "--out" in words and (tmp_path / words[words.index("--out") + 1]).is_dir():
                words[words.index("--out") + 1] += "_again"  # the page names it twice
            run(*words)
            done += 1
    assert done


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", sorted({s for t in PAGES.values() for s in re.findall(r"benchmarks/\w+\.py", t)})
)
def test_benchmarks_know_the_options_that_pages_name(script: str) -> None:
    shown = subprocess.run(
        [sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for text in PAGES.values():
        for line in lines(text):
            if script in line:
                assert set(re.findall(r" (--[a-z][a-z0-9-]*)", line)) <= {
                    *re.findall(r"--[a-z][a-z0-9-]*", shown)
                }, line
