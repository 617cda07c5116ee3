import type { ServerList } from '../../src/live/server-list.ts';
import { type EncodedBody, encodeJson } from '../http/encoding.ts';

/** The cached body of a key, built on a miss. */
export type BodyCache = (key: string, build: () => unknown) => EncodedBody;

/** Caches bodies until the list of servers changes. @param onLookup called for each lookup. */
export function createBodyCache(serverList: ServerList, onLookup: (isHit: boolean) => void): BodyCache {
  let bodies = new Map<string, EncodedBody>();
  serverList.onChange(() => {
    bodies = new Map();
  });
  return (key, build) => {
    const cached = bodies.get(key);
    onLookup(cached !== undefined);
    if (cached) return cached;
    const body = encodeJson(build());
    bodies.set(key, body);
    return body;
  };
}
