import { expect, test } from 'bun:test';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { Glob } from 'bun';

const paths = [...new Glob('.github/workflows/*.yml').scanSync({ dot: true })];

test.each(paths)('%s is a valid workflow', async (name) => {
  const content = await Bun.file(name).text();
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
});

test.each(paths)('%s pins its actions by commit', async (path) => {
  const actions = [...(await Bun.file(path).text()).matchAll(/uses: (.+)/g)].map(([, action]) => action);
  expect(actions).not.toBeEmpty();
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v[0-9.]+$/);
});
