/** Times in the zone of whoever looks. */

export function toLocalTime(utcIsoString, options = {}) {
  if (!utcIsoString) return "";
  const how = "dateStyle" in options || "timeStyle" in options ? options : { dateStyle: "medium", timeStyle: "medium", ...options };
  return new Intl.DateTimeFormat(undefined, { timeZone: getUserTimezone(), ...how }).format(new Date(utcIsoString));
}

export function getUserTimezone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
