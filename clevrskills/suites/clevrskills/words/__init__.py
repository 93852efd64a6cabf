"""Text interface of the 33 tasks: commands executed by skills."""
