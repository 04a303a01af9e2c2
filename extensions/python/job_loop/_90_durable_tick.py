"""Once a minute: a switch that was made by hand."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableTick(Extension):
    def execute(self, **kwargs):
        anchor.gate("host.tick")
