import http from 'node:http';
import type { Server } from 'bun';
import type { Logger } from 'pino';
import { createErrorMapper } from './error-handler.ts';
import { createHostCheck } from './host.ts';
import { REQUEST_ID_HEADER, requestIdForResponse } from './request-id.ts';
import { respondError } from './responses.ts';
import { whenSettled } from './when-settled.ts';

/** The part of an Elysia app that listening needs; handlers read `server` from it. */
export type App = {
  fetch: (request: Request) => Response | Promise<Response>;
  server: Server<unknown> | null;
};

type Handler = (request: Request, server: Server<unknown>) => Response | Promise<Response>;

/**
 * GET handlers by path, called by Bun's own router: for the few paths that are requested most. Elysia's router would
 * take a tenth of the time of a cached response.
 */
export type HotRoutes = Readonly<Record<string, Handler>>;

export type ListenOptions = {
  host: string;
  /** 0: any free port. */
  port: number;
  maxBodyBytes: number;
  hotRoutes?: HotRoutes;
  log: Logger;
  /** Whether responses close their connection, so that clients connect to another process. */
  isStopping: () => boolean;
};

/** Address and headers of a request: room for 5,000 characters of any script, percent-encoded. */
const MAX_HEADER_BYTES = 128 * 1024;
const IDLE_SECONDS = 30;

/**
 * Serves an app over HTTP. Requests with a malformed Host never reach a handler; an uncaught error is logged, and its
 * text is not sent.
 * @throws what Bun throws when it cannot listen on the port.
 */
export function listen(
  app: App,
  { host, port, maxBodyBytes, hotRoutes = {}, log, isStopping }: ListenOptions,
): Server<unknown> {
  const findHostFault = createHostCheck();
  const toErrorResponse = createErrorMapper(log);
  // Bun reads this when it begins to listen. By its default of 16 KB it would refuse a long query without a body.
  Reflect.set(http, 'maxHeaderSize', MAX_HEADER_BYTES);
  const checked =
    (handle: Handler): Handler =>
    (request, server) => {
      const fault = findHostFault(request);
      if (fault !== undefined) return complete(request, respondError({ status: 400, message: fault }));
      return whenSettled(handle(request, server), (response) => complete(request, response));
    };
  const complete = (request: Request, response: Response) => {
    const { headers } = response;
    headers.set(REQUEST_ID_HEADER, requestIdForResponse(request));
    if (request.method === 'HEAD') {
      // Bun leaves it out there.
      headers.set('Date', new Date().toUTCString());
      // RFC 9110 section 8.6 allows only the length that the 200 would have, and Elysia's automatic HEAD sets 0.
      if (response.status === 304) headers.delete('Content-Length');
    }
    if (isStopping()) headers.set('Connection', 'close');
    return response;
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
