"""A scheduled turn is taken in; a resume adopts the message that stands in the history."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableAdopt(Extension):
    def execute(self, data=None, **kwargs):
        anchor.gate("user_message.start", data, agent=self.agent)
