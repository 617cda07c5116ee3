import { describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { listSamples } from '../../../../api/web/guide/text.tsx';
import { generateWebhookSecret } from '../../../../src/domain/webhook.ts';
import { insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { codeOf, startSample } from '../../../support/docs/samples.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url: databaseUrl } = await createTestDatabase();
await insertServer(db, { name: 'Only Mirage #1' });
await insertPenalties(db, [
  ...Array.from({ length: 120 }, () => ({ type: 'ban' as const, playerName: 'Ala & <b>' })),
  { type: 'ban' as const, status: 'EXPIRED' as const },
]);
const folder = createTestFolder();

const hasPhp = Bun.which('php') !== null;
if (!hasPhp) {
  if (process.env.CI) throw new Error('No php: install php-cli');
  console.warn('SKIPPED: no php, so the samples of the guide in PHP are not tested');
}

/** Serves a sample in PHP, whose temporary files go to a folder of its own. */
async function startPhp(code: string, env: Record<string, string>) {
  const files = join(folder, crypto.randomUUID());
  await Bun.write(join(files, 'sample.php'), code);
  const address = `127.0.0.1:${findFreePort()}`;
  const php = Bun.spawn(['php', '-d', 'display_errors=1', '-S', address, join(files, 'sample.php')], {
    env: { PATH: process.env.PATH, TMPDIR: files, ...env },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  return {
    address: `http://${address}/`,
    files,
    [Symbol.asyncDispose]: async () => {
      php.kill();
      await php.exited;
    },
  };
}

let owners = 0;

/** Starts the list of bans on its own token, with which nothing else is asked. */
async function startBanList(language: 'PHP' | 'TypeScript') {
  const service = await startTestService({ databaseUrl, env: { RATE_LIMIT_PROTECTED: '60' } });
  owners += 1;
  const { token } = await aToken(db, owners);
  const samples = listSamples(service.origin);
  const list =
    language === 'PHP'
      ? await startPhp(codeOf(samples, 'bans-php'), { API_TOKEN: token })
      : await startSample(samples, 'bans-typescript', { API_TOKEN: token });
  await waitFor(() => fetch(`${list.address}?steamid=x`).catch(() => undefined));
  return {
    read: async (query = '') => (await fetch(list.address + query)).text(),
    remaining: async () => {
      const { headers } = await service.ask('/api/v1/token', bearer(token));
      return Number(headers.get('x-ratelimit-remaining'));
    },
    stopService: service.stop,
    files: 'files' in list ? join(list.files, 'ban-list') : undefined,
    [Symbol.asyncDispose]: () => list[Symbol.asyncDispose](),
  };
}

const linksOf = (page: string) =>
  [...page.matchAll(/<a href="([^"]*)">(\w+)/g)].map(([, to, text]) => [text, to]);

describe.each(hasPhp ? (['PHP', 'TypeScript'] as const) : (['TypeScript'] as const))(
  'the ban list in %s',
  (language) => {
    test('leads to the pages before and after, under its filters', async () => {
      await using list = await startBanList(language);
      const first = await list.read();
      expect(first).toContain('<p>121 bans, page 1 of 3</p>');
      expect(first).toMatch(/Ala &(amp|#38);/);
      expect(first).not.toContain('<b>');
      expect(linksOf(first)).toEqual([['Older', '?page=2']]);
      const second = await list.read('?status=ACTIVE&page=2');
      expect(second).toContain('<p>120 bans, page 2 of 3</p>');
      const [newer, older] = linksOf(second);
      expect(
        (await list.read(newer?.[1]?.replace('&amp;', '&').replace('&#38;', '&'))).match(/<p>.*/)?.[0],
      ).toBe('<p>120 bans, page 1 of 3</p>');
      expect(older?.[0]).toBe('Older');
      expect(linksOf(await list.read('?page=3')).map(([text]) => text)).toEqual(['Newer']);
      expect(linksOf(await list.read('?page=9'))).toEqual([['Newer', '?page=3']]);
      expect(await list.read('?steamid=%20[U:1:1]')).toContain('<p>0 bans, page 1 of 1</p>');
    });

    test('asks for nothing that the API does not know', async () => {
      await using list = await startBanList(language);
      await list.read();
      const before = await list.remaining();
      expect(await list.read('?steamid=<b>"')).toMatch(/value="&(lt|#60);b&(gt|#62);&(quot|#34);"/);
      expect(await list.read('?steamid=<b>')).toContain('This is not a SteamID.');
      for (const query of [
        '?status=active',
        '?page=-1',
        '?page=x',
        '?page[]=2',
        '?status[]=ACTIVE',
        '?x=1',
      ]) {
        expect([query, await list.read(query)]).toEqual([query, expect.stringContaining('page 1 of 3')]);
      }
      expect(await list.remaining()).toBe(before - 1);
    });

    test('leaves a tenth of the limit, and the first page, to others than a visitor who walks 200 pages', async () => {
      await using list = await startBanList(language);
      await list.read();
      for (let page = 1; page <= 200; page++) {
        expect(await list.read(`?page=${page}`)).toMatch(
          new RegExp(`<p>(121 bans, page ${page} of 3|Please try again in a minute\\.)</p>`),
        );
      }
      for (let id = 10; id < 60; id++) await list.read(`?steamid=[U:1:${id}]`);
      expect(await list.remaining()).toBeGreaterThanOrEqual(9);
      expect(await list.read()).toContain('<p>121 bans, page 1 of 3</p>');
      if (list.files) expect((await readdir(list.files)).length).toBeLessThanOrEqual(102);
    });

    test('the ban list shows no list with other filters once its requests are used up', async () => {
      await using list = await startBanList(language);
      await list.read();
      for (let id = 10; id < 60; id++) await list.read(`?steamid=[U:1:${id}]`);
      for (const query of ['?steamid=[U:1:99]', '?status=ACTIVE', '?status=EXPIRED', '?page=2']) {
        const page = await list.read(query);
        expect([query, page]).toEqual([
          query,
          expect.stringContaining('<p>Please try again in a minute.</p>'),
        ]);
        expect([query, page.includes('Ala')]).toEqual([query, false]);
      }
    });

    test('tells visitors to try again, and shows nothing else, when the API refuses with 429', async () => {
      await using list = await startBanList(language);
      while ((await list.remaining()) > 0);
      expect(await list.read('?status=EXPIRED')).toContain('<p>Please try again in a minute.</p>');
    });

    test('keeps the last list when the API is away, and says so without one', async () => {
      await using list = await startBanList(language);
      await using empty = await startBanList(language);
      await list.read();
      await Promise.all([list.stopService(), empty.stopService()]);
      expect(await list.read()).toContain('<p>121 bans, page 1 of 3</p>');
      expect(await list.read('?page=2')).toContain('<p>Please try again in a minute.</p>');
      expect(await empty.read()).toContain('<p>Please try again in a minute.</p>');
    });
  },
);

describe.skipIf(!hasPhp)('other samples in PHP', () => {
  test('print what the API answers', async () => {
    const service = await startTestService({ databaseUrl, env: { RATE_LIMIT_PROTECTED: '60' } });
    owners += 1;
    const { token } = await aToken(db, owners);
    const samples = listSamples(service.origin);
    const run = (id: string) =>
      Bun.spawn(['php', '-r', codeOf(samples, id).replace('<?php', '')], {
        env: { PATH: process.env.PATH, API_TOKEN: token },
      }).stdout.text();
    expect(await run('first-php')).toBe('Only Mirage #1: 0\n');
    expect(await run('token-php')).toBe('120 active bans\n');
    while ((await service.ask('/api/v1/token', bearer(token))).status !== 429);
    expect(await run('token-php')).toBe('Too many requests\n');
    await service.stop();
    expect(await run('first-php')).toBe('The servers could not be read.\n');
    expect(await run('token-php')).toBe('The API does not respond\n');
  });

  test('accept a signed webhook, and refuse another', async () => {
    const secret = generateWebhookSecret();
    await using receiver = await startPhp(codeOf(listSamples(''), 'webhook-php'), { WEBHOOK_SECRET: secret });
    const body = '{"type":"penalty.created"}';
    const now = new Date();
    const signed = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
    };
    const send = async (headers: Record<string, string>) =>
      (await fetch(receiver.address, { method: 'POST', body, headers })).status;
    expect(await waitFor(() => send(signed).catch(() => undefined))).toBe(204);
    expect(await send({ ...signed, 'webhook-id': 'msg_2' })).toBe(400);
  });
});
