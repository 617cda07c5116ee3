/** A browser without a script: keeps cookies, follows redirects by hand, reads forms. */
export type Browser = {
  /** By name, values as sent back; attributes are in `setCookies`. */
  cookies: Map<string, string>;
  /** Every Set-Cookie line that ever came. */
  setCookies: string[];
  get: (path: string, headers?: Record<string, string>) => Promise<Page>;
  /** The header that tells the cookies. */
  cookieLine: () => string;
  /** Posts a form as the browser would; the CSRF token of the last page is put first unless the form has one. */
  post: (
    path: string,
    form?: Record<string, string> | FormData,
    headers?: Record<string, string>,
  ) => Promise<Page>;
  /** Goes on to where a redirect leads, also to other hosts. */
  follow: (page: Page) => Promise<Page>;
};

export type Page = {
  url: string;
  status: number;
  headers: Headers;
  location: string;
  text: string;
  /** Value of a form field with this name, the first one. */
  field: (name: string) => string | undefined;
};

/** @param origin where paths lead; other hosts get no cookies. */
export function openBrowser(origin: string, options: { language?: string; agent?: string } = {}): Browser {
  const cookies = new Map<string, string>();
  const setCookies: string[] = [];
  let csrfToken: string | undefined;
  const browser: Browser = {
    cookies,
    setCookies,
    get: (path, headers) => request(path, { headers: headers ?? {} }),
    cookieLine,
    post: (path, form = {}, headers = {}) =>
      request(path, { method: 'POST', headers, body: withToken(form) }),
    follow: (page) => request(new URL(page.location, page.url).href, {}),
  };
  return browser;

  function cookieLine(): string {
    return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  function withToken(form: Record<string, string> | FormData): URLSearchParams | FormData {
    if (!(form instanceof FormData)) {
      return new URLSearchParams({ ...(csrfToken && { csrf_token: csrfToken }), ...form });
    }
    const whole = new FormData();
    if (csrfToken) whole.append('csrf_token', csrfToken);
    form.forEach((value, name) => {
      whole.append(name, value);
    });
    return whole;
  }

  async function request(
    path: string,
    init: RequestInit & { headers?: Record<string, string> },
  ): Promise<Page> {
    const url = new URL(path, origin).href;
    const isOurs = url.startsWith(origin);
    const cookie = cookieLine();
    const headers = {
      'accept-language': options.language ?? 'en',
      ...(options.agent !== undefined && { 'user-agent': options.agent }),
      ...(isOurs && cookie && { cookie }),
      ...init.headers,
    };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    const text = await response.text();
    if (isOurs) for (const line of response.headers.getSetCookie()) keep(line);
    const page: Page = {
      url,
      status: response.status,
      headers: response.headers,
      location: response.headers.get('location') ?? '',
      text,
      field: (name) => new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(text)?.[1],
    };
    csrfToken = page.field('csrf_token') ?? csrfToken;
    return page;
  }

  function keep(line: string): void {
    setCookies.push(line);
    const [pair = ''] = line.split(';');
    const at = pair.indexOf('=');
    if (/Max-Age=0/i.test(line)) cookies.delete(pair.slice(0, at));
    else cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

/** Signs in at the provider, as a click on the button there does. */
export async function signIn(browser: Browser): Promise<Page> {
  const start = await browser.get('/account/sign-in');
  const provider = await browser.follow(start);
  const back = await browser.follow(provider);
  return back.status === 303 ? browser.follow(back) : back;
}
