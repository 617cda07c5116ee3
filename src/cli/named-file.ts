import { stat } from 'node:fs/promises';
import type { BunFile } from 'bun';
import { InvalidInput } from '../domain/errors.ts';

/** The file that an operator named. @throws {InvalidInput} when there is none, or it is a folder. */
export async function openNamedFile(path: string): Promise<BunFile> {
  const file = Bun.file(path);
  if (await file.exists()) return file;
  const isFolder = await stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  const quoted = JSON.stringify(path);
  throw new InvalidInput(isFolder ? `${quoted} is a folder: name a file` : `There is no file ${quoted}`);
}
