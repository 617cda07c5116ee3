import type { Visit } from './request/visit.ts';

/** Adds the security headers and the visit's cookies to a response. */
export type SecureResponse = (response: Response, visit?: Visit) => Response;

type SecurityOptions = {
  publicUrl: string;
  /** The origins outside of the pages that forms may redirect to: Discord, when linking is configured. */
  formTargets: readonly string[];
  /** The source of the one inline stylesheet: `'sha256-…'`. */
  styleSource: string;
};

/**
 * Creates the function that adds the headers which all responses share. They forbid inline scripts, inline styles other
 * than the pages' stylesheet, content from other sites except avatars, framing and referrers; by default also caching.
 */
export function createSecurityHeaders(options: SecurityOptions): SecureResponse {
  const { publicUrl, formTargets, styleSource } = options;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${styleSource}`,
    "img-src 'self' https://*.steamstatic.com https://cdn.discordapp.com",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  const headers: [string, string][] = [
    ['referrer-policy', 'no-referrer'],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ];
  if (publicUrl.startsWith('https:')) headers.push(['strict-transport-security', 'max-age=31536000']);

  return (response, visit) => {
    for (const [name, value] of headers) response.headers.set(name, value);
    if (!response.headers.has('content-security-policy'))
      response.headers.set('content-security-policy', policy);
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    for (const cookie of visit?.cookies ?? []) response.headers.append('set-cookie', cookie);
    return response;
  };
}
