class SkillFailed(Exception):
    pass
