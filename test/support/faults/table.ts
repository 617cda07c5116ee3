/** Prints a Markdown table of what each fault did, and returns it. */
export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  const table = lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
  console.log(`\n${table}\n`);
  return table;
}

/** To be looked at: how long something takes depends on the machine. */
export function toSeconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(1);
}
