import type { penalties } from '../db/schema/penalties.ts';
import { PENALTY_TYPES, type PenaltyType } from '../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import { DAY_MS, MINUTE_MS } from '../domain/time.ts';
import { FLAGGED, MEMBER, PEOPLE, type Person, personAt } from './people.ts';
import { below, chance, pick } from './random.ts';

type NewPenalty = typeof penalties.$inferInsert;

/** As many as fit into one statement, which may have 65,535 parameters. */
const COUNT = 4300;
const ENDING_SOON = 12;
/** A server that was removed, but that penalties still name. */
const GONE_SERVER_ID = 9001;
const OLDEST_DAYS = 3.2 * 365;

/** How often each occurs, relative to the others. */
const SHARES: Record<PenaltyType, number> = { ban: 3, mute: 1, gag: 1, silence: 1, warn: 1 };
const TYPES = PENALTY_TYPES.flatMap((type) => Array<PenaltyType>(SHARES[type]).fill(type));

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

/** Penalties of every type, status and age, oldest first. */
export function createPenalties(serverIds: readonly number[], now: Date): NewPenalty[] {
  const create = () => createPenalty(serverIds, now);
  const rows = Array.from({ length: COUNT }, create);
  const daysFromNow = (days: number) => new Date(now.getTime() + days * DAY_MS);
  /** An active penalty; from and to are days from now. */
  const between = (type: PenaltyType, fromDays: number, toDays: number) => ({
    ...create(),
    ...NOT_LIFTED,
    type,
    status: 'ACTIVE' as const,
    createdAt: daysFromNow(fromDays),
    endsAt: daysFromNow(toDays),
    durationMinutes: Math.round((toDays - fromDays) * 1440),
  });
  // Some end within the next half hour, so that visitors see it.
  for (let number = 1; number <= ENDING_SOON; number++) {
    const minutes = number * 2.5;
    rows.push(between(pick(['ban', 'mute', 'gag']), (minutes - 60) / 1440, minutes / 1440));
  }
  const { name: playerName, steamId64: playerSteamId } = personAt(MEMBER);
  const ofMember: NewPenalty[] = [
    { ...between('gag', -1, 6), reason: 'Spam na czacie' },
    { ...between('warn', -3, 27), reason: 'Afk' },
    { ...between('mute', -60, -53), status: 'EXPIRED', reason: 'Muzyka przez mikrofon' },
    {
      ...between('ban', -200, -190),
      status: 'UNBANNED',
      reason: 'Multikonto',
      durationMinutes: 0,
      endsAt: null,
      ...liftAt(daysFromNow(-190)),
    },
  ];
  rows.push(...ofMember.map((row) => ({ ...row, playerName, playerSteamId })));
  return rows.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}

function createPenalty(serverIds: readonly number[], now: Date): NewPenalty {
  const type = pick(TYPES);
  // Some players are much more frequent than others.
  const player = personAt(FLAGGED + Math.floor(Math.random() ** 1.8 * (PEOPLE - FLAGGED)));
  const admin = pickAdmin();
  const durationMinutes = pick(DURATIONS[type]);
  // Most of them are recent.
  const ageMs = Math.ceil(Math.random() ** 1.6 * OLDEST_DAYS * DAY_MS) + MINUTE_MS;
  const createdAt = new Date(now.getTime() - ageMs);
  const endsAt = durationMinutes === 0 ? null : new Date(createdAt.getTime() + durationMinutes * MINUTE_MS);
  const isLifted = chance(type === 'warn' ? 0.04 : 0.12);
  const hasEnded = endsAt !== null && endsAt <= now;
  const shareServed = Math.random();
  const lastMs = hasEnded ? endsAt.getTime() : now.getTime();
  return {
    type,
    status: isLifted ? 'UNBANNED' : hasEnded ? 'EXPIRED' : 'ACTIVE',
    playerName: player.name,
    // Some bans are of an address only.
    playerSteamId: type === 'ban' && chance(0.02) ? UNKNOWN_STEAM_ID : player.steamId64,
    adminName: admin.name,
    adminSteamId: admin.steamId64,
    reason: pick(REASONS[type]),
    durationMinutes,
    serverId: pick([...serverIds, 0, GONE_SERVER_ID]),
    createdAt,
    endsAt,
    ...(isLifted && liftAt(new Date(createdAt.getTime() + (lastMs - createdAt.getTime()) * shareServed))),
  };
}

function liftAt(liftedAt: Date) {
  const { name, steamId64 } = pickAdmin();
  return { liftedAt, liftedByName: name, liftedBySteamId: steamId64, liftReason: pick(LIFTS) };
}

function pickAdmin(): Person {
  const console = { name: 'Console', steamId64: UNKNOWN_STEAM_ID };
  return chance(0.08) ? console : personAt(1 + 2 * below(FLAGGED / 2));
}

function split(text: string): string[] {
  return text.split('·').map((reason) => reason.trim());
}
