const names = new Map<string, string>();

/** Sets the name of a prepared statement in `/metrics`. */
export function nameStatement(text: string, name: string): void {
  names.set(text, name);
}

/** @returns the name of a prepared statement; for any other its verb and table, such as `update users`. */
export function nameOfStatement(text: string): string {
  const name = names.get(text);
  if (name !== undefined) return name;
  const [, verb = 'other'] = /^\s*(select|insert|update|delete|with|truncate|lock|set)\b/i.exec(text) ?? [];
  const [, table] =
    /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]{1,63})"?(?![a-z_("])/i.exec(text) ?? [];
  return table === undefined ? verb.toLowerCase() : `${verb.toLowerCase()} ${table}`;
}
