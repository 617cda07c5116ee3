/** Names, attributes and reading of the cookies of the account page, in one place. */
export type Cookies = {
  /** Undefined when it was not sent, or sent twice: then it is not ours alone. */
  read: (request: Request, name: CookieName) => string | undefined;
  /** @param maxAgeSeconds 0 takes it away. */
  write: (name: CookieName, value: string, maxAgeSeconds: number) => string;
};

export type CookieName = 'session' | 'sign-in' | 'discord-link' | 'notice' | 'language';

/**
 * HttpOnly and SameSite=Lax always; over https Secure as well, and the `__Host-` prefix, which keeps subdomains and
 * plain-http neighbours from planting one.
 */
export function createCookies(publicUrl: string): Cookies {
  const isSecure = publicUrl.startsWith('https:');
  const fullName = (name: CookieName) => (isSecure ? `__Host-${name}` : name);
  return {
    read: (request, name) => {
      const values = (request.headers.get('cookie') ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${fullName(name)}=`));
      return values.length === 1 ? values[0]?.slice(fullName(name).length + 1) : undefined;
    },
    write: (name, value, maxAgeSeconds) =>
      `${fullName(name)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
  };
}
