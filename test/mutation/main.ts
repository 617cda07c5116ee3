import { Stryker } from '@stryker-mutator/core';
import { UNITS } from './units.ts';

/**
 * Changes the code of each unit in every way Stryker knows, and runs the unit's own tests each time: a change that no
 * test notices survives. `bun run mutate penalty` tries the units that are named, without a name all of them.
 */
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !(name in UNITS));
if (unknown !== undefined) {
  console.error(`there is no unit ${JSON.stringify(unknown)}: name any of ${Object.keys(UNITS).join(', ')}`);
  process.exit(2);
}

const scores: string[] = [];
for (const [name, { file, tests }] of Object.entries(UNITS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const stryker = new Stryker({
    mutate: [file],
    testRunner: 'command',
    commandRunner: { command: `bun test --bail --timeout 30000 ${tests.join(' ')}` },
    coverageAnalysis: 'off',
    reporters: ['clear-text'],
    clearTextReporter: { logTests: false, allowColor: false, reportScoreTable: false },
    // No unit needs them; and what Stryker would do with tsconfig.json asks for an older TypeScript.
    ignorePatterns: ['bot', 'docs', 'data', 'storage', 'test/bench', 'test/artifacts', 'tsconfig.json'],
    tempDirName: '.stryker-tmp',
    allowConsoleColors: false,
    timeoutMS: 20_000,
    concurrency: 2,
  });
  const results = await stryker.runMutationTest();
  const survived = results.filter(({ status }) => status === 'Survived' || status === 'NoCoverage').length;
  const counted = results.filter(({ status }) => !['Ignored', 'CompileError'].includes(status)).length;
  scores.push(
    `${name}: ${counted - survived} of ${counted} changes noticed, ${(((counted - survived) / counted) * 100).toFixed(1)} %`,
  );
}
console.log(scores.join('\n'));
