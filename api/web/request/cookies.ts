/** Reads and writes the cookies of the pages. */
export type Cookies = {
  /**
   * Undefined when the cookie is missing, or sent twice, since another site of the host may have set one of them. A
   * header of more than 8,192 characters is ignored.
   */
  read: (request: Request, name: CookieName) => string | undefined;
  /** @param maxAgeSeconds 0 deletes the cookie. */
  write: (name: CookieName, value: string, maxAgeSeconds: number) => string;
};

/** Our cookies take a few hundred characters; other sites of the host may set more. */
const MAX_HEADER_LENGTH = 8192;

type CookieName = 'session' | 'sign-in' | 'notice' | 'language';

/**
 * Cookies are HttpOnly and SameSite=Lax. Over HTTPS they are also Secure and have the `__Host-` prefix, which prevents
 * subdomains and plain HTTP sites of the host from setting them.
 */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith('https:');
  const fullName = (name: CookieName) => (isSecure ? `__Host-${name}` : name);
  return {
    read: (request, name) => {
      const header = request.headers.get('cookie') ?? '';
      if (header.length > MAX_HEADER_LENGTH) return undefined;
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
