"""The welcome screen: what waits for a person, or why new work is not recorded."""

from helpers.extension import Extension
from usr.plugins.durable_execution.bridge import anchor


class DurableBanner(Extension):
    def execute(self, banners=None, **kwargs):
        anchor.gate("host.banners", {"banners": banners})
