import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aSteamId, insertPenalties } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled, nginxConfig, serve } from '../support/docs/deployment.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../support/providers/steam-openid-provider.ts';
import { createServices } from '../support/service/program.ts';
import { aToken, bearer } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';
import { openBrowser, signIn } from '../support/web/browser.ts';

const steam = startSteamOpenIdProvider();
steam.steamId = aSteamId(1);
const database = await createTestDatabase();
const { folder, start } = createServices(database.url);
await insertPenalties(database.db, [{ type: 'ban' }]);
const { token } = await aToken(database.db, 2, { now: new Date() });

/** The server of docs/operating.md on a loopback port without TLS, and what nginx needs to run beside another one. */
async function startNginx({ port, backend }: { port: number; backend: number }): Promise<void> {
  const [, printed = ''] =
    /```nginx\n(server \{[\s\S]*?\n\})\n/.exec(readFileSync('docs/operating.md', 'utf8')) ?? [];
  const server = printed
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replace(/^ *(listen \[|ssl_).*\n/gm, '')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${backend}`)
    // Without the port, which is another one than that of https here.
    .replace('Host $host;', `Host $host:${port};`);
  const file = join(folder, 'nginx.conf');
  await writeFile(file, nginxConfig(folder, server));
  serve(['nginx', '-e', 'stderr', '-c', file]);
}

test.skipIf(!isInstalled('nginx'))(
  'the nginx of docs/operating.md passes on uploads of 19 MB, events and exports',
  async () => {
    const [port, backend] = [findFreePort(), findFreePort()];
    const origin = `http://127.0.0.1:${port}`;
    const program = start({
      PORT: String(backend),
      PUBLIC_URL: origin,
      TRUSTED_PROXIES: '127.0.0.1',
      STEAM_OPENID_URL: steam.url,
    });
    await program.waitFor('HTTP server listening');
    await startNginx({ port, backend });
    await waitFor(() => fetch(`${origin}/healthz`).catch(() => undefined));
    expect((await fetch(`${origin}/metrics`)).status).toBe(404);

    const browser = openBrowser(origin);
    await signIn(browser);
    const upload = async (megabytes: number) => {
      const form = new FormData();
      form.append('csrf_token', (await browser.get('/account')).field('csrf_token') ?? '');
      form.append('file', new File([new Uint8Array(megabytes * 1024 * 1024).fill(1)], 'long.wav'));
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { cookie, accept: 'application/json' };
      return fetch(`${origin}/account/roundsound`, { method: 'POST', body: form, headers });
    };
    expect((await upload(19)).status).toBe(202);
    // Refused by nginx, with its own error page.
    const refused = await upload(22);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([413, 'text/html']);

    const aborted = new AbortController();
    const events = await fetch(`${origin}/api/v1/events`, { ...bearer(token), signal: aborted.signal });
    await insertPenalties(database.db, [{ type: 'mute', reason: 'Seen at once' }]);
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('Seen at once')) text += (await reader?.read())?.value ?? '';
    aborted.abort();

    const exported = await fetch(`${origin}/index.php/api/v1/penalties/export`, bearer(token));
    expect((await exported.text()).trim().split('\n')).toHaveLength(3);
  },
);
