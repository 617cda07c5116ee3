import { mkdir } from 'node:fs/promises';
import { atEnd } from '../cleanup.ts';

/**
 * A separate file system in memory, mounted in a new folder until the end of the test file, which only root may do.
 * @throws under CI when it could not be mounted.
 */
export async function mountSmallDisk(path: string, sizeBytes: number) {
  await mkdir(path, { recursive: true });
  const mount = (...options: string[]) => Bun.spawnSync(['mount', ...options]).success;
  const isMounted = mount('-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path);
  if (!isMounted && process.env.CI === 'true')
    throw new Error(`no file system could be mounted on ${path}: run as a user who may mount one`);
  if (!isMounted) console.warn('SKIPPED: tests on a separate disk, since this user may not mount one');
  if (isMounted) atEnd(() => Bun.spawnSync(['umount', '-l', path]));
  return {
    /** False for a user who may not mount: the tests that need it are skipped then, and say so. Always true under CI. */
    isMounted,
    path,
    resize: (size: number) => mount('-o', `remount,size=${size}`, path),
    makeReadOnly: () => mount('-o', 'remount,ro', path),
  };
}
