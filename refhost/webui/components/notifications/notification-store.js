/** Toasts. Their message is shown as HTML, as in the host: whoever sends one must escape what it did not write. */
import { createStore } from "/js/AlpineStore.js";

const MOST = 5;

export const store = createStore("notificationStore", {
  toastStack: [],
  notifications: [],
  seenGuid: "",
  seenVersion: 0,

  updateFromPoll(snapshot) {
    const news = snapshot.notifications_guid === this.seenGuid ? snapshot.notifications_version > this.seenVersion : true;
    if (!news) return;
    const known = snapshot.notifications_guid === this.seenGuid ? this.seenVersion : 0;
    this.seenGuid = snapshot.notifications_guid;
    this.seenVersion = snapshot.notifications_version;
    this.notifications = snapshot.notifications;
    if (known || snapshot.notifications.length) snapshot.notifications.filter((item) => !item.read).forEach((item) => this.show(item));
  },

  show({ id, type, message, title, display_time, group }) {
    this.toastStack = this.toastStack.filter((toast) => toast.id !== id && (!group || toast.group !== group));
    this.toastStack.push({ id, type, message, title, group });
    this.toastStack = this.toastStack.slice(-MOST);
    if (display_time > 0) setTimeout(() => this.dismissToast(id), display_time * 1000);
  },

  dismissToast(id) {
    this.toastStack = this.toastStack.filter((toast) => toast.id !== id);
  },
});

const made = (type, usual, seconds) =>
  async function toast(message, title = usual, display_time = seconds, group = "", priority = 10, frontendOnly = false) {
    const id = `frontend-${crypto.getRandomValues(new Uint32Array(2)).join("")}`;
    store.show({ id, type, message, title, display_time, group, priority, frontendOnly });
    return id;
  };

export const toastFrontendInfo = made("info", "Info", 3);
export const toastFrontendSuccess = made("success", "Success", 3);
export const toastFrontendWarning = made("warning", "Warning", 5);
export const toastFrontendError = made("error", "Connection Error", 8);
export const toastFrontendProgress = made("progress", "Progress", 3);

Object.assign(globalThis, {
  toastFrontendInfo,
  toastFrontendSuccess,
  toastFrontendWarning,
  toastFrontendError,
  toastFrontendProgress,
});
