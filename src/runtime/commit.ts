import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Enough to name a commit. */
const LENGTH = 12;

/** The commit that runs: the one in the file `COMMIT` of an image, else that of a git checkout; undefined for an archive. */
export function findCommit(root = ROOT): string | undefined {
  const read = (path: string) => {
    try {
      return readFileSync(`${root}/${path}`, 'utf8').trim();
    } catch {
      return '';
    }
  };
  const head = read('.git/HEAD');
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  const packed = () =>
    read('.git/packed-refs')
      .split('\n')
      .find((line) => line.endsWith(` ${ref}`)) ?? '';
  const commit = read('COMMIT') || (ref === undefined ? head : read(`.git/${ref}`) || packed());
  return /^[0-9a-f]{40,64}\b/.exec(commit)?.[0].slice(0, LENGTH);
}
