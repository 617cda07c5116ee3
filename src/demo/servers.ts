/** A server of the demo and its simulated game. */
export type DemoServer = {
  slug: string;
  name: string;
  hostname: string;
  mode: string;
  region: string;
  maxPlayers: number;
  maps: readonly string[];
  /** Share of the slots that are occupied in the evening, 0 to 1. */
  popularity: number;
  /** Delay of each response in milliseconds, which becomes its ping. */
  delayMs: number;
  bots?: number;
  /** A server without the plugin that makes CS2 send player names; they are empty. */
  isStock?: boolean;
  /** Goes down and comes back, again and again. */
  isUnsteady?: boolean;
};

export const DEMO_SERVERS: readonly DemoServer[] = [
  {
    slug: 'retake',
    name: 'Retake',
    hostname: 'Odbijanie bombsite’ów ★ Retakes ★ SVIP od 1 lvl',
    mode: 'Retake',
    region: 'PL',
    maxPlayers: 10,
    maps: ['de_inferno', 'de_mirage', 'de_nuke', 'de_anubis', 'de_ancient', 'de_dust2'],
    popularity: 0.85,
    delayMs: 14,
  },
  {
    slug: 'awp-lego',
    name: 'AWP Lego',
    hostname: 'AWP LEGO 2 ♥ Только снайперы',
    mode: 'AWP',
    region: 'EU-E',
    maxPlayers: 16,
    maps: ['awp_lego_2', 'awp_india', 'awp_bhop_rocket'],
    popularity: 0.65,
    delayMs: 38,
  },
  {
    slug: 'surf',
    name: 'Surf — początkujący',
    hostname: 'Surf Tier 1–3 | timer | rankingi',
    mode: 'Surf',
    region: 'DE',
    maxPlayers: 32,
    maps: ['surf_utopia_njv', 'surf_kitsune', 'surf_beginner', 'surf_mesa_aether'],
    popularity: 0.4,
    delayMs: 24,
    isUnsteady: true,
  },
  {
    slug: 'jailbreak',
    name: 'Jailbreak „Cela”',
    hostname: 'JailBreak CELA • 60 slotów • prowadzący z mikro',
    mode: 'Jailbreak',
    region: 'PL',
    maxPlayers: 60,
    maps: ['jb_summer_jail', 'jb_clouds', 'jb_minecraft_party'],
    popularity: 0.6,
    delayMs: 15,
  },
  {
    slug: 'arena-1v1',
    name: '竞技场 1v1 Arena',
    hostname: '1v1 竞技场 | アリーナ | 아레나',
    mode: '1v1',
    region: 'ASIA',
    maxPlayers: 18,
    maps: ['am_anubis_p', 'am_redline_14', 'am_dust2_pillars'],
    popularity: 0.5,
    delayMs: 62,
  },
  {
    slug: 'community-5v5',
    name: 'Community 5v5',
    hostname: 'Counter-Strike 2',
    mode: 'Competitive',
    region: 'NA-E',
    maxPlayers: 12,
    maps: ['de_ancient', 'de_train', 'de_nuke'],
    popularity: 0.55,
    delayMs: 47,
    bots: 2,
    isStock: true,
  },
];

const QUARTER_HOUR_MS = 900_000;

/**
 * The number of players on a demo server: few in the morning, many in the evening, more at weekends, with random changes
 * every quarter of an hour. Deterministic by server and time, so that history and present fit together.
 */
export function countDemoPlayers(server: DemoServer, at: Date): number {
  const quarter = Math.floor(at.getTime() / QUARTER_HOUR_MS);
  const into = at.getTime() / QUARTER_HOUR_MS - quarter;
  const noiseAt = (moment: number) => Number(Bun.hash(`${server.slug} ${moment}`)) / 2 ** 64;
  const noise = noiseAt(quarter) * (1 - into) + noiseAt(quarter + 1) * into;
  const hour = at.getUTCHours() + at.getUTCMinutes() / 60;
  // Highest at 19:00 UTC, lowest twelve hours later.
  const evening = (1 + Math.cos(((hour - 19) / 12) * Math.PI)) / 2;
  const weekend = [0, 6].includes(at.getUTCDay()) ? 1.15 : 1;
  const share = server.popularity * (0.22 + 0.78 * evening) * weekend * (0.75 + 0.5 * noise);
  // Never empty, even in the morning.
  return Math.max(2, Math.min(server.maxPlayers, Math.round(server.maxPlayers * share)));
}
