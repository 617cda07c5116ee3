/** Shared by all modules of a test file; the preload empties it. */
const shared = globalThis as typeof globalThis & { releases?: (() => unknown)[] };

/** Stops or removes something after the tests and hooks of this file: what was started last goes first. */
export function atEnd(release: () => unknown): void {
  shared.releases ??= [];
  shared.releases.push(release);
}

/** Called once, after the hooks of a test file. */
export async function cleanUp(): Promise<void> {
  for (const release of shared.releases?.splice(0).reverse() ?? []) await release();
}
