import { expect, test } from 'bun:test';
import pino from 'pino';
import { listen } from '../../../api/http/listen.ts';
import { generateApiToken } from '../../../src/domain/api-token.ts';

test('what no handler caught is 500 in JSON without its text, and one log line', async () => {
  const token = generateApiToken();
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const failures = [
    () => {
      throw new Error(`thrown at once for ?api_token=${token}`);
    },
    () => Promise.reject(new Error(`thrown later for ?api_token=${token}`)),
  ];
  for (const fetchApp of failures) {
    const app = { fetch: fetchApp, server: null };
    const server = listen(app, {
      host: '127.0.0.1',
      port: 0,
      maxBodyBytes: 1024,
      log,
      isStopping: () => false,
    });
    const response = await fetch(`http://127.0.0.1:${server.port}/account?api_token=${token}`);
    expect([response.status, await response.text()]).toEqual([
      500,
      '{"success":false,"message":"Server error"}',
    ]);
    await server.stop(true);
  }
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['a request failed', 'a request failed']);
});
