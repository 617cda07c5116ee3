import { Elysia } from 'elysia';
import { InvalidInput, NotFound } from '../src/errors.ts';
import { checkAddress } from '../src/queries/servers.ts';
import type { ServerBoard } from '../src/server-board.ts';

/**
 * `/connect/{slug}`: opens the game on a server. Discord takes no `steam://` address in a button, so its Connect leads
 * here. Always the address of now, hence never cached.
 * @see https://developer.valvesoftware.com/wiki/Steam_browser_protocol
 */
export function connect({ board }: { board: Pick<ServerBoard, 'findBySlug'> }) {
  return new Elysia({ detail: { hide: true } }).get('/connect/:slug', ({ params }) => {
    const address = board.findBySlug(params.slug)?.server.address;
    if (address === undefined || !isAddress(address)) throw new NotFound('Server not found');
    return new Response(null, {
      status: 302,
      headers: { Location: `steam://connect/${address}`, 'Cache-Control': 'no-store' },
    });
  });
}

/** An imported address may be anything; only HOST:PORT goes into a header. */
function isAddress(address: string): boolean {
  try {
    checkAddress(address);
    return true;
  } catch (error) {
    if (error instanceof InvalidInput) return false;
    throw error;
  }
}
