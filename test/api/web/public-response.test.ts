import { expect, test } from 'bun:test';
import { loadAssets } from '../../../api/web/layout/assets.ts';
import { createPublicResponse } from '../../../api/web/public-response.ts';
import type { Visit } from '../../../api/web/request/visit.ts';

const respond = createPublicResponse(loadAssets(undefined));
const VISITOR = {
  request: new Request('http://localhost/'),
  url: new URL('http://localhost/'),
  locale: 'en',
  cookies: [] as string[],
} as Visit;

test.each<[who: string, visit: Partial<Visit>, cacheControl: string]>([
  ['a visitor', {}, 'public, max-age=5'],
  ['somebody whose session cannot be looked up', { isUnidentified: true }, 'private, no-cache'],
  ['a visitor who gets a cookie', { cookies: ['notice='] }, 'private, no-cache'],
  ['a visitor of the demo', { isDemo: true }, 'private, no-cache'],
])('the page of %s is kept by whom it may', async (_, visit, cacheControl) => {
  const { headers } = await respond({ ...VISITOR, ...visit }, async () => 'page' as never);
  expect(headers.get('cache-control')).toBe(cacheControl);
});
