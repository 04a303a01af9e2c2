"""Once a minute: a switch or an update that was made by hand, what did not start, files that changed, upkeep."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableTick(Extension):
    def execute(self, **kwargs):
        anchor.gate("host.tick")
