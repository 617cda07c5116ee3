import type { ServerList } from '../../src/live/server-list.ts';
import { buildJsonBody, type JsonBody } from '../http/json.ts';

/** The cached body of a key, built on a miss. */
export type BodyCache = (key: string, build: () => unknown) => JsonBody;

/** Caches bodies until the list of servers changes. @param onLookup called for each lookup. */
export function createBodyCache(serverList: ServerList, onLookup: (isHit: boolean) => void): BodyCache {
  let bodies = new Map<string, JsonBody>();
  serverList.onChange(() => {
    bodies = new Map();
  });
  return (key, build) => {
    const cached = bodies.get(key);
    onLookup(cached !== undefined);
    if (cached) return cached;
    const body = buildJsonBody(build());
    bodies.set(key, body);
    return body;
  };
}
