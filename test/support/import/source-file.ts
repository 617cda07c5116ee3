import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { createTestFolder } from '../service/program.ts';

/**
 * Makes SQLite files of a source's tables and rows, which every importer of a database reads. They are deleted when the
 * file's tests are done.
 * @returns what makes one of statements, as {@link editSource} takes them, and returns its address.
 */
export function createSourceFiles(): (...statements: string[]) => string {
  const folder = createTestFolder();
  let files = 0;
  return (...statements) => {
    files += 1;
    const url = `sqlite:${join(folder, `${files}.sqlite`)}`;
    editSource(url, ...statements);
    return url;
  };
}

/** Runs statements, separated by semicolons, on a file that a mirror may be reading. */
export function editSource(url: string, ...statements: string[]): void {
  const file = new Database(url.replace('sqlite:', ''));
  file.run('pragma busy_timeout = 5000');
  for (const statement of statements.join(';').split(';')) if (statement.trim() !== '') file.run(statement);
  file.close();
}
