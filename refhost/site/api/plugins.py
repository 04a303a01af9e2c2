"""Switches plugins on and off, reads and saves their settings, deletes them."""

from __future__ import annotations

from helpers import api, extension, plugins


class Plugins(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        action = {
            "toggle_plugin": self._toggle_plugin,
            "get_toggle_status": self._get_toggle_status,
            "get_config": self._get_config,
            "save_config": self._save_config,
            "delete_plugin": self._delete_plugin,
        }.get(input.get("action", ""))
        if action is None or not input.get("plugin_name"):
            return api.Response("Unknown action or missing plugin_name", status=400)
        return action(input)

    @extension.extensible
    def _toggle_plugin(self, input: api.Input) -> api.Output:
        scope = (input.get("project_name", ""), input.get("agent_profile", ""))
        plugins.toggle_plugin(input["plugin_name"], bool(input.get("enabled")), *scope, False)
        return {"ok": True}

    @extension.extensible
    def _get_toggle_status(self, input: api.Input) -> api.Output:
        return {"ok": True, "status": plugins.get_toggle_state(input["plugin_name"])}

    @extension.extensible
    def _get_config(self, input: api.Input) -> api.Output:
        project = input.get("project_name", "")
        return {"ok": True, "data": plugins.get_plugin_config(input["plugin_name"], project_name=project) or {}}

    @extension.extensible
    def _save_config(self, input: api.Input) -> api.Output:
        scope = (input.get("project_name", ""), input.get("agent_profile", ""))
        plugins.save_plugin_config(input["plugin_name"], *scope, input.get("settings", {}))
        return {"ok": True}

    @extension.extensible
    def _delete_plugin(self, input: api.Input) -> api.Output:
        try:
            plugins.uninstall_plugin(input["plugin_name"])
        except FileNotFoundError as error:
            return api.Response(str(error), status=404)
        except Exception as error:
            return api.Response(f"The plugin could not be deleted: {error}", status=500)
        return {"ok": True}
