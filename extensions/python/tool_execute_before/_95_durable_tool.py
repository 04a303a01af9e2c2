"""After secrets were filled in and other plugins checked: wrap the tool that is about to run."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableTool(Extension):
    def execute(self, **kwargs):
        anchor.gate("tool.before", agent=self.agent)
