"""Which files of enabled plugins belong to a point of the page."""

from __future__ import annotations

from helpers import api, extension


class LoadWebuiExtensions(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        point = input.get("extension_point")
        if not point:
            return api.Response("Missing extension_point", status=400)
        return {"extensions": extension.get_webui_extensions(None, point, input.get("filters"))}
