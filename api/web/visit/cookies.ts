/** Reads and writes the cookies of the pages. */
export type Cookies = {
  /**
   * Undefined when it was not sent, or sent twice: then somebody else set one too. A header of more than 8,192
   * characters is ignored.
   */
  read: (request: Request, name: CookieName) => string | undefined;
  /** @param maxAgeSeconds 0 deletes the cookie. */
  write: (name: CookieName, value: string, maxAgeSeconds: number) => string;
};

/** Ours take a few hundred characters, besides what other sites of this host set. */
const LONGEST_HEADER = 8192;

export type CookieName = 'session' | 'sign-in' | 'discord-link' | 'notice' | 'language';

/**
 * HttpOnly and SameSite=Lax always; over https Secure as well, and the `__Host-` prefix, which keeps subdomains and
 * plain-http sites of the host from setting one.
 */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith('https:');
  const fullName = (name: CookieName) => (isSecure ? `__Host-${name}` : name);
  return {
    read: (request, name) => {
      const header = request.headers.get('cookie') ?? '';
      if (header.length > LONGEST_HEADER) return undefined;
      const values = header
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${fullName(name)}=`));
      return values.length === 1 ? values[0]?.slice(fullName(name).length + 1) : undefined;
    },
    write: (name, value, maxAgeSeconds) =>
      `${fullName(name)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
  };
}
