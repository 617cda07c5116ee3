/** The command that runs a Bun: `bun`, or `npx …` where npm downloaded it for this one call. */
export function bunCommand(execPath: string, version: string): string {
  return /[\\/]_npx[\\/]/.test(execPath) ? `npx --yes bun@${version}` : 'bun';
}

/** How the operator's tool is called on this machine, for hints that people paste. */
export const TOOL = `${bunCommand(process.execPath, Bun.version)} run cli`;
