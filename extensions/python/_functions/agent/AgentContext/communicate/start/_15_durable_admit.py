"""A message comes in, after slash commands had their turn: admit, keep or refuse it."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableAdmit(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("communicate.start", data)
