"""What the page is told when the plugin stays on."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableRefusal(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("toggle.answered", data)
