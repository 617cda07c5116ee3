import { afterAll } from 'bun:test';
import type { AnyElysia } from 'elysia';
import pino from 'pino';
import { createApp } from '../../../api/app.ts';
import { createErrorMapper } from '../../../api/http/error-handler.ts';
import { listen } from '../../../api/http/listen.ts';

/** Serves one part of the API as the service does, on a free port of loopback, until the file's tests end. */
export function listenOnLoopback(part: AnyElysia): { port: number; origin: string } {
  const log = pino({ level: 'silent' });
  const server = listen(createApp(createErrorMapper(log)).use(part).compile(), {
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 1024,
    log,
    isStopping: () => false,
  });
  afterAll(() => server.stop(true));
  const port = server.port ?? 0;
  return { port, origin: `http://127.0.0.1:${port}` };
}
