import { Unavailable } from '../domain/errors.ts';
import { readBoundedText } from '../runtime/bounded-text.ts';

/** The client of Steam's Web API, one in a process: it holds the key and the time limit. */
export type SteamApi = {
  /** False without `STEAM_API_KEY`: then nothing is requested. */
  hasKey: boolean;
  /**
   * Calls a method, such as `ISteamUser/GetPlayerSummaries/v2`.
   * @returns the body as Steam sent it, not validated.
   * @param options.timeoutMs how long Steam may take, instead of the client's own limit.
   * @throws {Unavailable} without a key, after the last call of the day, and when the request fails; the key is in no
   * message.
   */
  call: (
    method: string,
    parameters: Record<string, string>,
    options?: { timeoutMs?: number },
  ) => Promise<unknown>;
};

type Options = {
  /** `STEAM_API_URL` */
  apiUrl: string;
  apiKey: string | undefined;
  /** Counts a call before it is made; false: the calls that Steam allows in a day are used up. */
  countCall: () => Promise<boolean>;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** 2,500 ms by default, since people wait for it, at the sign-in and on Discord. */
  timeoutMs?: number;
};

/** Ten times the largest regular response, one about a hundred players. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Creates the client, which repeats no failed request. @see https://partner.steamgames.com/doc/webapi_overview */
export function createSteamApi({
  apiUrl,
  apiKey,
  countCall,
  fetch: fetchUrl = fetch,
  timeoutMs = 2500,
}: Options): SteamApi {
  return {
    hasKey: apiKey !== undefined,
    async call(method, parameters, { timeoutMs: limitMs = timeoutMs } = {}) {
      if (apiKey === undefined) throw new Unavailable('STEAM_API_KEY is not set: Steam cannot be asked');
      if (!(await countCall())) throw new Unavailable("Steam's daily limit of calls is used up");
      const url = `${apiUrl}/${method}/?${new URLSearchParams({ key: apiKey, ...parameters })}`;
      try {
        // A redirect would carry the key to another address.
        const response = await fetchUrl(url, { redirect: 'manual', signal: AbortSignal.timeout(limitMs) });
        if (!response.ok) throw new Error(`status ${response.status}`);
        const text = await readBoundedText(response, MAX_BODY_BYTES);
        if (text === undefined) throw new Error(`a body of more than ${MAX_BODY_BYTES} bytes`);
        return JSON.parse(text);
      } catch (error) {
        // The error of a failed fetch may quote the URL with the key: its message is cleaned, and it is not kept as cause.
        const reason = error instanceof Error ? error.message.replaceAll(apiKey, '…') : 'unknown';
        throw new Unavailable(`Steam did not respond to ${method}: ${reason}`);
      }
    },
  };
}

/** A nested object of a response; empty when it is missing. */
export function objectIn(body: unknown, name: string): Record<string, unknown> {
  const value = isObject(body) ? body[name] : undefined;
  return isObject(value) ? value : {};
}

/** Whether the properties of a value of unknown type can be read; true for arrays too. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
