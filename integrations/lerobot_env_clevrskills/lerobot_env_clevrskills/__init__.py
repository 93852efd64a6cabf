"""ClevrSkills as an environment of LeRobot; importing it registers ``--env.type=clevrskills``."""

from lerobot_env_clevrskills.configuration import ClevrSkillsEnvConfig

__all__ = ["ClevrSkillsEnvConfig"]
