/** Where persona names come from; without a key nobody is asked. */
export type SteamProfiles = {
  /** `STEAM_API_URL` */
  apiUrl: string;
  apiKey: string | undefined;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** 3,000 ms by default: a sign-in does not wait longer for a name. */
  timeoutMs?: number;
  /** Told what went wrong, without the key. */
  onFailed?: (reason: string) => void;
};

export type SteamProfile = { nickname?: string; avatarUrl?: string };

const LONGEST_NICKNAME = 64;

/**
 * The persona name and avatar Steam shows for an account, nothing when there is no key or Steam does not say: a
 * sign-in never fails for want of a name.
 * @see https://developer.valvesoftware.com/wiki/Steam_Web_API#GetPlayerSummaries_(v0002)
 */
export async function fetchSteamProfile(steam: SteamProfiles, steamId64: string): Promise<SteamProfile> {
  if (!steam.apiKey) return {};
  const url = new URL(`${steam.apiUrl}/ISteamUser/GetPlayerSummaries/v2/`);
  url.searchParams.set('key', steam.apiKey);
  url.searchParams.set('steamids', steamId64);
  try {
    const signal = AbortSignal.timeout(steam.timeoutMs ?? 3_000);
    const response = await steam.fetch(url.href, { redirect: 'manual', signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return readProfile(await response.json(), steamId64);
  } catch (error) {
    // The message of a failed fetch may quote the address, and with it the key.
    const reason = error instanceof Error ? error.message.replaceAll(steam.apiKey, '…') : 'unknown';
    steam.onFailed?.(reason);
    return {};
  }
}

function readProfile(answer: unknown, steamId64: string): SteamProfile {
  const player = listPlayers(answer).find((candidate) => candidate.steamid === steamId64);
  const nickname = cleanNickname(player?.personaname);
  const avatarUrl = readAvatarUrl(player?.avatarfull);
  return { ...(nickname && { nickname }), ...(avatarUrl && { avatarUrl }) };
}

function listPlayers(answer: unknown): Record<string, unknown>[] {
  const response = isRecord(answer) && isRecord(answer.response) ? answer.response : {};
  return Array.isArray(response.players) ? response.players.filter(isRecord) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Control characters out (PostgreSQL refuses NUL), length in code points, as Steam counts. */
function cleanNickname(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined;
  const cleaned = name.replace(/\p{Cc}/gu, '').trim();
  return [...cleaned].slice(0, LONGEST_NICKNAME).join('') || undefined;
}

function readAvatarUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > 300 || !URL.canParse(url)) return undefined;
  return new URL(url).protocol === 'https:' ? url : undefined;
}
