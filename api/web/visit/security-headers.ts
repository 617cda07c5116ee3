import type { Visit } from './visit.ts';

type SecurityOptions = {
  publicUrl: string;
  /** Where forms may lead besides this site: Discord, when linking is set up. */
  formTargets: readonly string[];
};

/**
 * Adds the headers that every response carries: nothing inline runs, nothing but avatars comes from elsewhere, no other
 * site frames the page or learns its address, and no cache stores it.
 */
export function createResponseGuard({ publicUrl, formTargets }: SecurityOptions) {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' https://*.steamstatic.com https://cdn.discordapp.com",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  const headers: [string, string][] = [
    ['content-security-policy', policy],
    ['referrer-policy', 'no-referrer'],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ];
  if (publicUrl.startsWith('https:')) headers.push(['strict-transport-security', 'max-age=31536000']);

  return (response: Response, visit?: Visit): Response => {
    for (const [name, value] of headers) response.headers.set(name, value);
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    for (const cookie of visit?.cookies ?? []) response.headers.append('set-cookie', cookie);
    return response;
  };
}
