/**
 * The pages of the Recovery store's list, and the search among all runs: what was opened stays open, also over a look
 * at everything again. The server searches; here stand the words that were typed.
 */
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import * as dialog from "/plugins/durable_execution/webui/stores/recovery-dialog.js";
import * as format from "/plugins/durable_execution/webui/stores/recovery-format.js";

const SEARCH_MS = 250;

export const pages = {
  query: "",
  searched: "",
  _searching: 0,

  /** The list as far as it was opened: a look at it again never takes pages away from who reads them. */
  async _pages(turn) {
    const shown = this.list?.items.length ?? 0;
    let reply = await this._page(null);
    while (reply.status === 200 && reply.body.next && reply.body.items.length < shown && turn === this._listTurn) {
      const before = reply.body.items;
      reply = await this._page(reply.body.next);
      if (reply.status === 200) reply.body.items = [...before, ...reply.body.items];
    }
    return reply;
  },

  _page(cursor) {
    const tab = this.tab === "documents" ? "needs_you" : this.tab;
    return ask("recovery_list", { tab, cursor, query: tab === "all" ? this.searched : "" });
  },

  /** Look among all runs, once the typing pauses. */
  search(words, wait = SEARCH_MS) {
    this.query = words;
    clearTimeout(this._searching);
    const look = () => {
      if (this.phase === "idle" || this.searched === words.trim()) return;
      Object.assign(this, { searched: words.trim(), list: null });
      void this.refresh().then(() => (this.live = `${format.plural(this.list?.items.length ?? 0, "run", "runs")} found.`));
    };
    if (wait) this._searching = setTimeout(look, wait);
    else look();
  },

  get pagingLine() {
    const shown = this.list?.items.length ?? 0;
    if (this.searched) return this.list?.next ? `${shown} found so far` : `${format.plural(shown, "run", "runs")} found`;
    return `${shown} of ${format.plural(this.list?.counts?.all ?? shown, "run", "runs")}`;
  },

  async more() {
    const cursor = this.list?.next;
    if (!cursor || this.refreshing) return;
    const turn = ++this._listTurn;
    this.refreshing = true;
    const reply = await this._page(cursor);
    if (turn !== this._listTurn) return;
    if (reply.status !== 200) return this._listFailed(reply);
    const items = [...this.list.items, ...reply.body.items];
    const next = reply.body.items[0];
    Object.assign(this, { list: { ...reply.body, items }, refreshing: false });
    if (next) dialog.keepFocus(`rx-card-${next.run_id}`);
    this.live = `${format.plural(items.length, "run", "runs")} shown.`;
  },
};
