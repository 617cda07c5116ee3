import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
/** Tests of the fast half. */
const isFast = (path: string) =>
  path.endsWith('.test.ts') && !/\.(slow|model|browser)\.|test\/deploy\//.test(path);

/** The test files of the fast half below `root`. */
export async function listFastTests(root: string): Promise<string[]> {
  return [...new Glob('test/**/*.test.ts').scanSync(root)].filter(isFast).sort();
}

/** For each test file of the fast half the product files that it reaches, with the number of imports between them. */
export async function measureReach(root: string): Promise<Map<string, Map<string, number>>> {
  const imports = new Map<string, string[]>();
  for (const path of new Glob('{src,api,bot,media,test}/**/*.{ts,tsx}').scanSync(root)) {
    const code = await Bun.file(join(root, path)).text();
    imports.set(
      path,
      [...code.matchAll(IMPORT)].map((match) => normalize(join(dirname(path), match[1] ?? ''))),
    );
  }
  const reach = new Map<string, Map<string, number>>();
  for (const testFile of await listFastTests(root)) {
    const distances = new Map([[testFile, 0]]);
    // A map is iterated in the order of insertion, including what is inserted meanwhile: breadth first.
    for (const [path, distance] of distances) {
      for (const target of imports.get(path) ?? []) {
        if (!distances.has(target)) distances.set(target, distance + 1);
      }
    }
    reach.set(testFile, distances);
  }
  return reach;
}
