/**
 * The settings page's view of the journal: health, what it takes, backups, the doctor. It asks while it is shown and
 * stops asking when it is gone; what is allowed, and what is wrong, is the server's word.
 */
import { createStore } from "/js/AlpineStore.js";
import { toLocalTime } from "/js/time-utils.js";
import { ask } from "/plugins/durable_execution/webui/stores/recovery-api.js";
import { ENABLING, offText, offTitle, plural } from "/plugins/durable_execution/webui/stores/recovery-format.js";

const WATCH_MS = 1_000;
const LEVELS = {
  ok: { icon: "verified_user", tone: "ok", word: "Working" },
  attention: { icon: "report", tone: "hold", word: "Look at this" },
  stopped: { icon: "dangerous", tone: "danger", word: "Not recording" },
};
const LOOKED = "The doctor has looked.";
const PARTS = { file: "the file", references: "references", blobs: "saved values", checkpoints: "checkpoints" };

export const store = createStore("durableSafety", {
  status: null,
  view: null,
  problem: "",
  said: "",
  busy: "",
  restoring: null,
  accepted: false,
  _shown: 0,
  _timer: 0,

  open() {
    const turn = ++this._shown;
    Object.assign(this, { status: null, view: null, problem: "", said: "", busy: "", restoring: null, accepted: false });
    void this._look(turn);
  },

  close() {
    this._shown += 1;
    clearTimeout(this._timer);
  },

  async _look(turn) {
    const status = await ask("status");
    if (turn !== this._shown) return;
    this.status = status.status === 200 ? status.body : null;
    if (this.status?.active) await this._ask("safety", {}, turn);
    else if (!this.status) this.problem = "Agent Zero is not reachable. Nothing was changed.";
  },

  /** Every call answers with the whole view. */
  async _ask(name, body, turn = this._shown) {
    const reply = await ask(name, body);
    if (turn !== this._shown) return null;
    if (reply.status !== 200) {
      this.problem = reply.body?.text ? `${reply.body.text} Nothing was changed.` : "This could not be read. Nothing was changed.";
      return null;
    }
    this.problem = "";
    if (this.view?.doctor.state === "running" && reply.body.doctor?.state === "done") this.said = LOOKED;
    if (reply.body.health) this.view = reply.body;
    this._watch(turn);
    return reply.body;
  },

  /** While the doctor looks, ask how far it is. */
  _watch(turn) {
    clearTimeout(this._timer);
    if (this.view?.doctor.state !== "running") return;
    this._timer = setTimeout(() => void this._ask("safety", {}, turn), WATCH_MS);
  },

  async _do(what, name, body, say) {
    if (this.busy) return;
    this.busy = what;
    const answer = await this._ask(name, body);
    this.busy = "";
    if (answer) this.said = say(answer);
  },

  runDoctor() {
    return this._do("doctor", "doctor", { start: true }, ({ doctor }) => (doctor.state === "running" ? "The doctor is looking." : LOOKED));
  },

  makeBackup() {
    return this._do("backup", "backup_make", {}, () => "The backup was made and verified.");
  },

  verify(name) {
    return this._do(`verify ${name}`, "backup_verify", { name }, ({ verified }) => verified.text);
  },

  askRestore(backup) {
    Object.assign(this, { restoring: backup, accepted: false, said: "", problem: "" });
    globalThis.requestAnimationFrame?.(() => document.getElementById("rxs-restore-title")?.focus());
  },

  cancelRestore() {
    const name = this.restoring?.name;
    this.restoring = null;
    globalThis.requestAnimationFrame?.(() => document.getElementById(`rxs-restore-${name}`)?.focus());
  },

  async restore() {
    if (!this.accepted) {
      this.problem = "Tick the box to go on. Nothing was changed.";
      return;
    }
    await this._do("restore", "backup_restore", { name: this.restoring.name, ack: true }, ({ restored }) => {
      this.restoring = null;
      const waits = restored.held ? ` ${plural(restored.held, "run waits", "runs wait")} for your decision.` : "";
      return `The backup was put back. The former journal lies in ${restored.aside}.${waits}`;
    });
  },

  // ---- words -------------------------------------------------------------------------

  get level() {
    return LEVELS[this.view?.health.level] ?? LEVELS.attention;
  },

  get enabling() {
    return ENABLING;
  },

  offTitle,
  offText,

  when(at) {
    return Number.isFinite(at) ? toLocalTime(new Date(at), { dateStyle: "medium", timeStyle: "short" }) : "time not known";
  },

  size(bytes) {
    if (!Number.isFinite(bytes)) return "size not known";
    const units = ["B", "KiB", "MiB", "GiB"];
    let at = 0;
    let left = bytes;
    while (left >= 1024 && at < units.length - 1) {
      left /= 1024;
      at += 1;
    }
    return `${at ? left.toFixed(1) : left} ${units[at]}`;
  },

  get storageText() {
    const used = this.view?.storage;
    if (!used) return "";
    const parts = `journal ${this.size(used.journal)}, large results ${this.size(used.bodies)}, backups ${this.size(used.backups)}`;
    const left = used.replaced ? `, journals that a restore replaced ${this.size(used.replaced)}. Run the doctor to see which can be removed.` : "";
    return `${this.size(used.total)}: ${parts}${left}`;
  },

  get integrityText() {
    const doctor = this.view?.doctor;
    if (!doctor || doctor.state === "none") return "Not looked at since the start. The doctor reads every record.";
    if (doctor.state === "running") return this.progressText;
    const records = doctor.findings.find((each) => each.what === "records");
    return `${records ? upper(records.text) : "Not looked at"}, looked at ${this.when(doctor.at)}.`;
  },

  get progressText() {
    const { part, done, total } = this.view?.doctor ?? {};
    return part ? `Reading ${PARTS[part] ?? part}: ${done} of ${total}` : "Looking…";
  },
});

const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
