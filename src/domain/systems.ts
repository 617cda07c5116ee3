import type { PanelTables } from './panel.ts';

type System = {
  /** The name of the system, in all languages. */
  title: string;
  /** The kinds of database that it supports. */
  databases: readonly ('mysql' | 'sqlite')[];
};

type SystemWithPenalties = System & {
  /** Its tables of penalties, by the names that the setting of its panel gives them. */
  tables: PanelTables;
  /** The default prefix of its tables. */
  prefix?: string;
  /** Whether a setting names the time zone of its times. */
  isZoned?: boolean;
  /** Whether it records how long a player was online during a mute. */
  recordsOnlineTime?: boolean;
};

const PENALTY_SYSTEMS = {
  simpleadmin: {
    title: 'CS2-SimpleAdmin',
    databases: ['mysql', 'sqlite'],
    tables: { bans: 'sa_bans', mutes: 'sa_mutes', warns: 'sa_warns' },
    isZoned: true,
    recordsOnlineTime: true,
  },
  sourcebans: {
    title: 'SourceBans++',
    databases: ['mysql'],
    tables: { bans: 'bans', comms: 'comms' },
    prefix: 'sb_',
  },
  iks: {
    title: 'IKS Admin',
    databases: ['mysql'],
    tables: { bans: 'iks_bans', comms: 'iks_comms' },
  },
} as const satisfies Record<string, SystemWithPenalties>;

/** A system whose penalties are imported and mirrored. */
export type PenaltySystem = keyof typeof PENALTY_SYSTEMS;
/** The names of a system's tables of penalties. */
export type TableOf<System extends PenaltySystem> = Extract<
  (typeof PENALTY_SYSTEMS)[System]['tables'][keyof (typeof PENALTY_SYSTEMS)[System]['tables']],
  string
>;
export const PENALTY_SYSTEM_NAMES = Object.keys(PENALTY_SYSTEMS) as PenaltySystem[];

/**
 * The systems that can be mirrored, by the names of their commands and, in capitals, of their settings. Each gives flags by a
 * mapping.
 */
export const SYSTEMS: Readonly<Record<PenaltySystem, SystemWithPenalties> & Record<'vipcore', System>> = {
  ...PENALTY_SYSTEMS,
  vipcore: { title: 'VIPCore', databases: ['mysql'] },
};
export type SystemName = keyof typeof SYSTEMS;
const SYSTEM_NAMES = Object.keys(SYSTEMS) as SystemName[];
export const SYSTEM_TITLES = Object.fromEntries(
  SYSTEM_NAMES.map((name) => [name, SYSTEMS[name].title]),
) as Record<SystemName, string>;

/** A value for each system with penalties. */
export function byPenaltySystem<T>(compute: (name: PenaltySystem) => T): Record<PenaltySystem, T> {
  const entries = PENALTY_SYSTEM_NAMES.map((name) => [name, compute(name)]);
  return Object.fromEntries(entries) as Record<PenaltySystem, T>;
}

/** The systems that give flags by a mapping, in rounds. */
export const FLAG_SYSTEMS = [...SYSTEM_NAMES, 'discord'] as const;
export type FlagSystem = (typeof FLAG_SYSTEMS)[number];
