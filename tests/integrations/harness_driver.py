"""Runs episodes in words by a harness of others, where it is installed; prints JSON of results.

Usage: harness_driver.py inspect SUITE PRESET TASK COUNT LOGS
       harness_driver.py openenv URL COUNT
The scripted model is the function that the environment variable READER names, or says the words of
REPLY.
"""

import json
import os
import sys

from clevrskills.agents.messages import from_openai
from clevrskills.agents.scripted_models import reply_function
from clevrskills.core.policy import Message


def reply(messages: list[Message]) -> str:
    if text := os.environ.get("REPLY"):
        return text
    function = reply_function(os.environ["READER"])
    assert function is not None
    return function(messages)


def by_inspect(suite: str, preset: str, task: str, count: str, logs: str) -> object:
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    images = []

    def answer(messages, tools, choice, config):
        ours = []
        for message in messages:
            parts = message.content
            parts = [parts] if isinstance(parts, str) else parts
            images.extend(p.image[:22] for p in parts if getattr(p, "type", "") == "image")
            texts = (p if isinstance(p, str) else getattr(p, "text", "") for p in parts)
            ours.append(Message(message.role, tuple(filter(None, texts))))
        given = ModelOutput.from_content("mockllm/model", reply(ours))
        given.usage = ModelUsage(input_tokens=3, output_tokens=2, total_tokens=5)
        return given

    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = eval(
        f"clevrskills/integrations/inspect_tasks.py@{suite}",
        model=model,
        task_args={"preset": preset, "tasks": task, "count": int(count)},
        log_dir=logs,
        display="none",
        max_samples=3,
    )
    assert log.status == "success", log.error
    return {
        "results": {s.id: s.scores["outcome"].metadata for s in log.samples},
        "scores": {s.id: s.scores["outcome"].value for s in log.samples},
        "means": {s.name: s.metrics["mean"].value for s in log.results.scores},
        "images": sorted(set(images)),
    }


def by_openenv(url: str, count: str) -> object:
    from openenv.core.generic_client import GenericEnvClient

    results, rewards, errors = {}, {}, []
    with GenericEnvClient(base_url=url).sync() as env:
        for _ in range(int(count)):
            given, total = env.reset(), 0.0
            while not given.done:
                messages = from_openai(given.observation["messages"])
                given = env.step({"reply": reply(messages)})
                total += given.reward
            state = env.state()
            results[state["episode_id"]], rewards[state["episode_id"]] = state["result"], total
        first = env.reset(episode_id=next(iter(results))).observation
        again = env.reset(seed=5).observation
        assert first != again and again == env.reset(seed=5).observation
        refused = env.step({"command": "jump"}).observation
        for action in ({}, {"command": "a", "reply": "b"}):
            try:
                env.step(action)
            except RuntimeError as error:
                errors.append(str(error))
    return {"results": results, "rewards": rewards, "refused": refused, "errors": errors}


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    found = {"inspect": by_inspect, "openenv": by_openenv}[kind](*arguments)
    print(json.dumps(found))
