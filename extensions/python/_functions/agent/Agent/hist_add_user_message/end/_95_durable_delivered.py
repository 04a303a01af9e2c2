"""Messages that came after this one follow right here."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableDelivered(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("user_message.end", data, agent=self.agent)
