import { Elysia } from 'elysia';
import { DAY_MS } from '../src/domain/time.ts';

/** What search engines have no use for: pages of one person, redirects, and data for programs. */
const NOT_TO_CRAWL = ['/account', '/connect', '/api', '/index.php', '/swagger/json'];

/**
 * `/robots.txt`, and `/.well-known/security.txt` (RFC 9116) if there is somebody to report to.
 * @param deps.securityContact an address that begins with `https:` or `mailto:`.
 */
export function siteFiles({
  securityContact,
  publicUrl,
}: {
  securityContact: string | undefined;
  publicUrl: string;
}) {
  const text = (lines: string[]) =>
    new Response(`${lines.join('\n')}\n`, {
      headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'public, max-age=86400' },
    });
  const app = new Elysia().get('/robots.txt', () =>
    text(['User-agent: *', 'Allow: /account/assets/', ...NOT_TO_CRAWL.map((path) => `Disallow: ${path}`)]),
  );
  if (securityContact === undefined) return app;
  return app.get('/.well-known/security.txt', () =>
    text([
      `Contact: ${securityContact}`,
      `Expires: ${new Date(Date.now() + 30 * DAY_MS).toISOString()}`,
      `Canonical: ${publicUrl}/.well-known/security.txt`,
    ]),
  );
}
