import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { DEPLOY, isInstalled, listDashboardQueries, run } from '../support/docs/deployment.ts';
import { createTestFolder } from '../support/service/program.ts';

const folder = createTestFolder();

test.skipIf(!isInstalled('caddy'))('the Caddyfile is valid', async () => {
  const env = { SITE_ADDRESS: 'play.example.org', BACKENDS: 'api1:3000 api2:3000' };
  const validate = ['caddy', 'validate', '--adapter', 'caddyfile', '--config', `${DEPLOY}/Caddyfile`];
  expect((await run(validate, env)).output).toContain('Valid configuration');
});

test('the scripts are valid', async () => {
  for (const name of [
    'postgres/primary.sh',
    'postgres/replica.sh',
    'systemd/community-api',
    'nightly-backup',
  ]) {
    expect(await run(['bash', '-n', `${DEPLOY}/${name}`])).toEqual({ code: 0, output: '' });
  }
});

test.skipIf(!isInstalled('systemd-analyze'))('the units are valid', async () => {
  const paths = ['community-api@.service', 'community-api-backup.service', 'community-api-backup.timer'].map(
    async (name) => {
      const unit = await Bun.file(`${DEPLOY}/systemd/${name}`).text();
      const path = join(folder, name.replace('@', '@api1'));
      await Bun.write(
        path,
        unit
          .replace('/usr/local/bin/bun', process.execPath)
          .replace('/opt/community-api/', `${process.cwd()}/`),
      );
      return path;
    },
  );
  expect(await run(['systemd-analyze', 'verify', ...(await Promise.all(paths))])).toEqual({
    code: 0,
    output: '',
  });
});

const hasPromtool = isInstalled('promtool');

test.skipIf(!hasPromtool)('every query of the dashboard is PromQL', async () => {
  const queries = await listDashboardQueries();
  const file = join(folder, 'dashboard-rules.yml');
  const rule = (expr: string, index: number) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
  });
  await Bun.write(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: queries.map(rule) }] }));
  const checked = await run(['promtool', 'check', 'rules', file]);
  expect([checked.code, checked.output]).toEqual([
    0,
    expect.stringContaining(`${queries.length} rules found`),
  ]);
});

test.skipIf(!hasPromtool)('every alert fires when it should, and not before', async () => {
  expect((await run(['promtool', 'check', 'config', `${DEPLOY}/prometheus/prometheus.yml`])).code).toBe(0);
  expect((await run(['promtool', 'check', 'rules', `${DEPLOY}/prometheus/alerts.yml`])).code).toBe(0);
  const tested = await run(['promtool', 'test', 'rules', `${DEPLOY}/prometheus/alerts.test.yml`]);
  expect([tested.code, tested.output]).toEqual([0, expect.stringContaining('SUCCESS')]);
});
