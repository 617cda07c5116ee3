import http from 'node:http';
import type { Server } from 'bun';
import type { Logger } from 'pino';
import { createErrorMapper } from './error-handler.ts';
import { createHostCheck } from './host.ts';
import { respondError } from './responses.ts';

/** An Elysia app, as far as listening is concerned: handlers read `server` from it. */
export type App = {
  fetch: (request: Request) => Response | Promise<Response>;
  server: Server<unknown> | null;
};

type Handler = (request: Request, server: Server<unknown>) => Response | Promise<Response>;

/**
 * Handlers of GET, by path, that Bun's own router calls: for the few addresses that everybody asks for all the time.
 * Elysia's router would take a tenth of the time of a response that is kept ready.
 */
export type HotRoutes = Readonly<Record<string, Handler>>;

type ListenOptions = {
  host: string;
  /** 0 for a free one. */
  port: number;
  maxBodyBytes: number;
  hotRoutes?: HotRoutes | undefined;
  log: Logger;
  /** Whether clients are to open their next connection elsewhere. */
  isStopping: () => boolean;
};

/** Address and headers of a request: room for 5,000 characters of any script, percent-encoded. */
const MAX_HEADER_BYTES = 128 * 1024;
const IDLE_SECONDS = 30;

/**
 * Serves an app over HTTP, and is the only way in: no handler sees a request whose Host is malformed, and what nobody caught is logged here and stays here.
 * @throws what Bun throws for a port that cannot be had.
 */
export function listen(
  app: App,
  { host, port, maxBodyBytes, hotRoutes = {}, log, isStopping }: ListenOptions,
): Server<unknown> {
  const findHostFault = createHostCheck();
  const toErrorResponse = createErrorMapper(log);
  // Bun reads it when it begins to listen; at its own 16 KB a long query would be refused without a body.
  Reflect.set(http, 'maxHeaderSize', MAX_HEADER_BYTES);
  const checked =
    (handle: Handler): Handler =>
    (request, server) => {
      const fault = findHostFault(request);
      if (fault !== undefined) return respondError({ status: 400, message: fault });
      const response = handle(request, server);
      return isStopping() ? closeConnection(response) : response;
    };
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: maxBodyBytes,
    // Bun's page for developers shows source code and the address of the request.
    development: false,
    routes: Object.fromEntries(
      Object.entries(hotRoutes).map(([path, handle]) => [path, { GET: checked(handle) }]),
    ),
    fetch: checked((request) => app.fetch(request)),
    error: (error) => respondError(toErrorResponse(error)),
  });
  app.server = server;
  return server;
}

/** Tells the client, by the response, to send nothing more on its connection. */
async function closeConnection(responding: Response | Promise<Response>): Promise<Response> {
  const response = await responding;
  response.headers.set('Connection', 'close');
  return response;
}
