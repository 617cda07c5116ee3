import type { penalties } from '../db/schema/penalties.ts';
import { PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import type { Person } from './people.ts';
import { createRandom, type Random } from './random.ts';

type NewPenalty = typeof penalties.$inferInsert;

type Options = { count: number; serverIds: readonly number[]; now: Date; seed: number };

/** People before this position are users with flags, among them the admins. */
const FIRST_PLAYER = 16;
/** The position of a user without flags who has penalties to look at. */
export const MEMBER = 0;
/** A server that was removed, but that penalties still name. */
const GONE_SERVER_ID = 9001;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const OLDEST_DAYS = 3.2 * 365;

/** The share of each type in percent. */
const WEIGHTS: Record<PenaltyType, number> = { ban: 38, mute: 18, gag: 16, silence: 8, warn: 20 };

/** Minutes; 0 is permanent. */
const DURATIONS: Record<PenaltyType, readonly number[]> = {
  ban: [0, 0, 30, 60, 120, 1440, 1440, 4320, 10_080, 10_080, 20_160, 43_200, 129_600, 525_600],
  mute: [15, 30, 60, 60, 180, 1440, 10_080, 43_200, 0],
  gag: [15, 30, 60, 60, 180, 1440, 10_080, 43_200, 0],
  silence: [60, 180, 1440, 1440, 10_080, 0],
  warn: [1440, 10_080, 10_080, 43_200, 43_200],
};

const BAN_REASONS = `Wallhack · Aimbot · Spinbot · Cheaty – demo sprawdzone · Wspomagacze · Обход бана · Читы · Софт в наличии ·
  Ban evasion · Multikonto · Griefing · Team damage · Rage quit ×5 · Scam na skiny · Reklama innego serwera ·
  Toksyczność po 3 ostrzeżeniach · 외부 프로그램 사용 · 使用外挂 · チート行為 · Κλέβει στο παιχνίδι · غش · שימוש בצ׳יטים · Bug abuse ·
  Dropping bomb in spawn · Teaming in FFA · DDoS threats · Nieodpowiedni nick · 해킹 의심 – 데모 확인`;
const SPEECH_REASONS = `Spam na czacie · Krzyki do mikrofonu · Wyzwiska · Obraza rodziny · Muzyka przez mikrofon · Rasizm ·
  Оскорбления · Мат в голосовом чате · Spamming binds · Earrape · Political flame · Reklama · Flood · Szum w mikro ·
  刷屏 · 暴言 · 욕설 · Ύβρεις · إهانة لاعبين · ספאם · „Kłótnia z adminem” · Hałas w tle`;
const WARN_REASONS = `Afk · Camping · Blokowanie przejścia · Nie słucha prowadzącego (CT) · Flash na swoich · Ciche wyzwiska ·
  Kemping na respie · Nadużywanie !report · Teamkill · Podszywanie się pod admina · Wulgarny nick · Не играет за команду ·
  Przedłużanie rundy · Ghosting · 消极游戏`;
const LIFT_REASONS = `Odwołanie przyjęte · Pomyłka · Zła osoba · Unban kupiony · Apelacja na forum · Ошибка админа ·
  Amnestia świąteczna · Wyjaśnione na TS`;

const REASONS: Record<PenaltyType, readonly string[]> = {
  ban: split(BAN_REASONS),
  mute: split(SPEECH_REASONS),
  gag: split(SPEECH_REASONS),
  silence: split(SPEECH_REASONS),
  warn: split(WARN_REASONS),
};
const LIFTS = split(LIFT_REASONS);
const NOT_LIFTED = { liftedAt: null, liftedByName: null, liftedBySteamId: null, liftReason: null };
const SOON_OVER: readonly PenaltyType[] = ['ban', 'mute', 'gag'];

/** Penalties of every type, status and age, oldest first; the same for the same seed and moment. */
export function createPenalties(people: readonly Person[], options: Options): NewPenalty[] {
  const { count, now, seed } = options;
  const random = createRandom(seed + 2);
  const rows = Array.from({ length: count }, () => createPenalty(people, random, options));
  // Some end within the next half hour, so that visitors see it.
  for (let number = 0; number < 12; number++) {
    const endsAt = new Date(now.getTime() + (number + 1) * 2.5 * MINUTE_MS);
    rows.push({
      ...createPenalty(people, random, options),
      type: SOON_OVER[number % SOON_OVER.length] ?? 'ban',
      status: 'ACTIVE',
      durationMinutes: 60,
      createdAt: new Date(endsAt.getTime() - 60 * MINUTE_MS),
      endsAt,
      ...NOT_LIFTED,
    });
  }
  rows.push(...createMemberPenalties(people, random, options));
  return rows.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}

/** The penalties of the member: active, expired and lifted. */
function createMemberPenalties(people: readonly Person[], random: Random, options: Options): NewPenalty[] {
  const member = people[MEMBER];
  if (!member) return [];
  const { now } = options;
  const daysFromNow = (days: number) => new Date(now.getTime() + days * DAY_MS);
  const days = (from: number, to: number) => ({
    createdAt: daysFromNow(from),
    endsAt: daysFromNow(to),
    durationMinutes: (to - from) * 1440,
  });
  const rows: Partial<NewPenalty>[] = [
    { type: 'gag', status: 'ACTIVE', reason: 'Spam na czacie', ...days(-1, 6), ...NOT_LIFTED },
    { type: 'warn', status: 'ACTIVE', reason: 'Afk', ...days(-3, 27), ...NOT_LIFTED },
    { type: 'mute', status: 'EXPIRED', reason: 'Muzyka przez mikrofon', ...days(-60, -53), ...NOT_LIFTED },
    {
      type: 'ban',
      status: 'UNBANNED',
      reason: 'Multikonto',
      durationMinutes: 0,
      createdAt: daysFromNow(-200),
      endsAt: null,
      liftedAt: daysFromNow(-190),
      liftedByName: people[1]?.name ?? null,
      liftedBySteamId: people[1]?.steamId64 ?? null,
      liftReason: 'Odwołanie przyjęte',
    },
  ];
  return rows.map((row) => ({
    ...createPenalty(people, random, options),
    playerName: member.name,
    playerSteamId: member.steamId64,
    ...row,
  }));
}

function createPenalty(people: readonly Person[], random: Random, { serverIds, now }: Options): NewPenalty {
  const type = pickType(random);
  const player = pickPlayer(people, random);
  const admin = pickAdmin(people, random);
  const durationMinutes = random.pick(DURATIONS[type]);
  // Most of them are recent.
  const ageMs = Math.ceil(random.next() ** 2.4 * OLDEST_DAYS * DAY_MS) + MINUTE_MS;
  const createdAt = new Date(now.getTime() - ageMs);
  const endsAt = durationMinutes === 0 ? null : new Date(createdAt.getTime() + durationMinutes * MINUTE_MS);
  const isLifted = random.chance(type === 'warn' ? 0.04 : 0.12);
  const hasEnded = endsAt !== null && endsAt <= now;
  const status: PenaltyStatus = isLifted ? 'UNBANNED' : hasEnded ? 'EXPIRED' : 'ACTIVE';
  const isAddressBan = type === 'ban' && random.chance(0.02);
  return {
    type,
    status,
    playerName: player.name,
    playerSteamId: isAddressBan ? UNKNOWN_STEAM_ID : player.steamId64,
    ...admin,
    reason: random.pick(REASONS[type]),
    durationMinutes,
    serverId: pickServerId(serverIds, random),
    createdAt,
    endsAt,
    ...(isLifted && liftOf({ createdAt, endsAt, now }, people, random)),
  };
}

function liftOf(
  { createdAt, endsAt, now }: { createdAt: Date; endsAt: Date | null; now: Date },
  people: readonly Person[],
  random: Random,
) {
  const lastMoment = Math.min(endsAt?.getTime() ?? now.getTime(), now.getTime());
  const { adminName, adminSteamId } = pickAdmin(people, random);
  return {
    liftedAt: new Date(createdAt.getTime() + (lastMoment - createdAt.getTime()) * random.next()),
    liftedByName: adminName,
    liftedBySteamId: adminSteamId,
    liftReason: random.pick(LIFTS),
  };
}

function pickType(random: Random): PenaltyType {
  let rest = random.below(100);
  for (const type of PENALTY_TYPES) {
    rest -= WEIGHTS[type];
    if (rest < 0) return type;
  }
  return 'warn';
}

/** Some players are much more frequent than others. */
function pickPlayer(people: readonly Person[], random: Random): Person {
  const number = Math.floor(random.next() ** 1.8 * (people.length - FIRST_PLAYER)) + FIRST_PLAYER;
  return people[number] ?? random.pick(people);
}

/** Every other one of the users with flags is an admin. */
function pickAdmin(people: readonly Person[], random: Random) {
  const admin = random.chance(0.08) ? undefined : people[1 + 2 * random.below(FIRST_PLAYER / 2)];
  return { adminName: admin?.name ?? 'Console', adminSteamId: admin?.steamId64 ?? UNKNOWN_STEAM_ID };
}

function pickServerId(serverIds: readonly number[], random: Random): number {
  if (random.chance(0.08)) return 0;
  if (random.chance(0.03)) return GONE_SERVER_ID;
  return random.pick(serverIds);
}

function split(text: string): string[] {
  return text.split('·').map((reason) => reason.trim());
}
