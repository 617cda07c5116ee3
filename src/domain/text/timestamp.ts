/** `2026-11-21T10:00:00+00:00`, the form of every timestamp but `created_at` of a user. */
export function formatTimestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** `2026-11-21T10:00:00Z`. */
export function formatTimestampZ(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
