/**
 * How the operator's tool is called on this machine, for hints that people paste: by `npx` where that started this process,
 * since there may be no other Bun.
 */
export const TOOL = `${process.execPath.includes('/_npx/') ? `npx --yes bun@${Bun.version}` : 'bun'} run cli`;
