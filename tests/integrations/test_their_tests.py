"""The tests of Gymnasium and ManiSkill themselves, run on our environments, where
scripts/setup_clients.sh has put them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
CLIENTS = ROOT / ".venv-clients"
THEIRS = {
    "gymnasium": (
        "tests/envs/test_envs.py",
        "tests/envs/test_rendering.py",
        "tests/envs/registration/test_make_vec.py",
        "tests/test_core.py",
        "tests/vector",
        "tests/wrappers",
        # minutes of films, of which others among these tests make some
        "--ignore=tests/wrappers/vector/test_human_rendering.py",
        "--ignore=tests/wrappers/vector/test_record_video.py",
    ),
    "maniskill": (
        "tests/test_envs.py",
        "tests/test_sim_state.py",
        "tests/test_venv.py",
        "tests/test_wrappers.py",
    ),
}
CARTPOLE = "is about CartPole: its 4 numbers, 2 moves, 500 steps, gravity or arguments"
SHORT = "counts films of CartPole's short episodes"
BOX2D = "needs Box2D"
FORK = "draws in processes forked from one that draws, which their reset refuses: spawn is needed"
EQUAL = "wrappers/vector/test_vector_wrappers.py::test_vector_wrapper_equivalence"
NOT_OURS = {
    "gymnasium": {
        "envs/registration/test_make_vec.py::test_make_vec_env_id": CARTPOLE,
        "envs/registration/test_make_vec.py::test_make_vec_vectorization_mode": CARTPOLE,
        "envs/registration/test_make_vec.py::test_make_vec_with_spec[CartPole-v1-kwargs8": CARTPOLE,
        "envs/registration/test_make_vec.py::test_make_vec_with_spec[CartPole-v1-kwargs9": CARTPOLE,
        "envs/registration/test_make_vec.py::test_make_vec_with_spec[env_id18": CARTPOLE,
        "envs/registration/test_make_vec.py::test_make_vec_with_spec[env_id19": CARTPOLE,
        "envs/test_rendering.py::test_pygame_selective_init": "draws by pygame",
        "test_core.py::test_get_set_wrapper_attr": CARTPOLE,
        "vector/test_async_vector_env.py::test_call_async_vector_env": FORK,
        "vector/test_async_vector_env.py::test_render_async_vector": FORK,
        "vector/test_async_vector_env.py::test_reset_async_vector_env": CARTPOLE,
        "vector/test_async_vector_env.py::test_step_async_vector_env": CARTPOLE,
        "vector/test_sync_vector_env.py::test_call_sync_vector_env": CARTPOLE,
        "vector/test_sync_vector_env.py::test_sync_vector_env_seed": BOX2D,
        "vector/test_vector_wrapper.py::test_vector_env_wrapper_attributes": CARTPOLE,
        "wrappers/test_action_repeat.py::test_action_repeat_reward_accumulation": CARTPOLE,
        "wrappers/test_clip_reward.py::test_clip_reward_wrapper": CARTPOLE,
        "wrappers/test_frame_stack_observation.py::test_padding_type": CARTPOLE,
        "wrappers/test_normalize_observation.py::test_normalize_obs_with_vector": BOX2D,
        "wrappers/test_record_video.py::test_both_episodic_and_step_trigger": SHORT,
        "wrappers/test_record_video.py::test_video_folder_and_filenames": SHORT,
        "wrappers/test_resize_observation.py::test_invalid_input": BOX2D,
        "wrappers/test_resize_observation.py::test_resize_shapes": BOX2D,
        "wrappers/test_time_limit.py::test_max_episode_steps": CARTPOLE,
        f"{EQUAL}[CarRacing": BOX2D,
        f"{EQUAL}[CartPole-v1-RescaleObservation": CARTPOLE,
        "wrappers/vector/test_vectorize_transform.py::test_vectorize_dict_to_box_obs": CARTPOLE,
    },
    "maniskill": {
        "test_envs.py::test_env_control_modes[pd_joint_": "there is one control mode",
        "test_envs.py::test_robots[xmate3": "there is no such robot",
    },
}
"""Tests that fail, as beginnings of their names, and why."""


@pytest.mark.readers
@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("name", THEIRS)
def test_only_documented_tests_fail(name: str, tmp_path: Path) -> None:
    source = CLIENTS / f"{name}-tests"
    if not (source / "tests").is_dir():
        pytest.skip("make it with scripts/setup_clients.sh, and GYMNASIUM_SOURCE for Gymnasium's")
    shutil.copytree(source / "tests", tmp_path / "tests")
    (tmp_path / "tests/__init__.py").touch()
    options = ["-p", f"{name}_ids", "-p", "no:cacheprovider", "-m", "not gpu_sim", "-q", "-rfE"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *THEIRS[name]],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, HERE, ROOT, source))),
            "SDL_VIDEODRIVER": "dummy",
        },
        capture_output=True,
        text=True,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
    ours = [test for test in failed if not test.startswith(tuple(NOT_OURS[name]))]
    passes_now = [of for of in NOT_OURS[name] if not any(t.startswith(of) for t in failed)]
    assert (ours, passes_now) == ([], []), done.stdout[-6000:]
    assert " passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
