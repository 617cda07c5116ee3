/** A sound that a plugin holds, ready to be played. */
export type HeldSound = { version: string; bytes: Uint8Array };

type Listed = { steamid64: string; has_sound: boolean; voice_url?: string };

type Options = {
  /** `https://…/api/v1` */
  apiUrl: string;
  /** Milliseconds by a clock that is never set. */
  clockMs: () => number;
};

/** How long a plugin waits after a request before it asks about players who joined meanwhile. */
const GATHER_MS = 60_000;
const MAX_PLAYERS = 100;

/**
 * What a CS2 plugin does with round-end sounds, as docs/sounds.md tells plugin authors: it asks for everybody at the
 * start of a map and for who joined a minute later, holds voice files by their version, plays one at the end of a round
 * and stops it when the next one starts. It plays into `played`, in place of a game server.
 */
export class SoundPlugin {
  /** What was played, by player. */
  readonly played: string[] = [];
  /** Requests under the rate limit, and downloads, which are not. */
  readonly requests = { asked: 0, unchanged: 0, refused: 0, downloaded: 0 };
  private readonly players = new Set<string>();
  private readonly held = new Map<string, HeldSound>();
  private asked: { players: string; etag: string; data: Listed[] } | undefined;
  private isStale = false;
  private nextMs = 0;
  private playing: string | undefined;

  constructor(private readonly options: Options) {}

  /** The map begins with these players. */
  async startMap(players: Iterable<string>): Promise<void> {
    this.players.clear();
    for (const player of players) this.players.add(player);
    this.isStale = true;
    this.nextMs = Math.min(this.nextMs, this.options.clockMs());
    await this.tick();
  }

  join(player: string): void {
    this.players.add(player);
    this.isStale = true;
  }

  leave(player: string): void {
    this.players.delete(player);
  }

  /** Called every second: asks when somebody is new and it is time. */
  async tick(): Promise<void> {
    if (!this.isStale || this.options.clockMs() < this.nextMs) return;
    this.isStale = false;
    this.nextMs = this.options.clockMs() + GATHER_MS;
    await this.prefetch();
  }

  /** The round is over, and this player's sound is played if it is there. */
  endRound(mostValuable: string): void {
    if (!this.held.has(mostValuable)) return;
    this.playing = mostValuable;
    this.played.push(mostValuable);
  }

  /** The next round starts: silence. */
  startRound(): void {
    this.playing = undefined;
  }

  isPlaying(): boolean {
    return this.playing !== undefined;
  }

  sound(player: string): HeldSound | undefined {
    return this.held.get(player);
  }

  private async prefetch(): Promise<void> {
    // In one order, so that the same players are the same question.
    const players = [...this.players].sort().slice(0, MAX_PLAYERS).join(',');
    if (players === '') return;
    const headers = this.asked?.players === players ? { 'If-None-Match': this.asked.etag } : undefined;
    const url = `${this.options.apiUrl}/players/roundsounds?steamids=${players}`;
    this.requests.asked += 1;
    const response = await fetch(url, { ...(headers && { headers }) }).catch(() => undefined);
    if (response?.status === 200) {
      const { data } = (await response.json()) as { data: Listed[] };
      this.asked = { players, etag: response.headers.get('ETag') ?? '', data };
    } else if (response?.status === 304) {
      this.requests.unchanged += 1;
    } else {
      // Too many requests, or the service is away: later, with the sounds that are here.
      this.requests.refused += 1;
      this.isStale = true;
      this.nextMs = this.options.clockMs() + Number(response?.headers.get('Retry-After') ?? 30) * 1000;
      return;
    }
    // After 304 too: a download may have failed the last time.
    for (const listed of this.asked?.data ?? []) await this.hold(listed);
  }

  private async hold({ steamid64, voice_url: url }: Listed): Promise<void> {
    if (url === undefined) {
      this.held.delete(steamid64);
      return;
    }
    const version = new URL(url).searchParams.get('v') ?? '';
    if (this.held.get(steamid64)?.version === version) return;
    const bytes = await download(url).catch(() => undefined);
    if (bytes) {
      this.requests.downloaded += 1;
      this.held.set(steamid64, { version, bytes });
    } else {
      // A minute later, with the next request.
      this.isStale = true;
    }
  }
}

async function download(url: string): Promise<Uint8Array | undefined> {
  const response = await fetch(url);
  return response.ok ? response.bytes() : undefined;
}
