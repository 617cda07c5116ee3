import { plural } from '../locale.ts';

const players = (count: number) => plural('en', count, { one: 'player', other: 'players' });

/** The status page. */
export const status = {
  title: 'Servers',
  /** The description in link previews. */
  summary: (online: number, all: number, playing: number) =>
    `${online} of ${plural('en', all, { one: 'server', other: 'servers' })} online, ${players(playing)} in game`,
  allOnline: 'All servers are online',
  someOffline: (offline: number) =>
    plural('en', offline, { one: 'server is offline', other: 'servers are offline' }),
  someUnchecked: (unchecked: number) =>
    plural('en', unchecked, {
      one: 'server has not been checked yet',
      other: 'servers have not been checked yet',
    }),
  allOffline: 'All servers are offline',
  numbers: { players: 'Players now', online: 'Servers online', peak: '24-hour peak' },
  list: 'All servers',
  updated: 'Updated',
  updatesAutomatically: 'Updates automatically',
  lostConnection: 'Connection lost, trying again. You see the last known state.',
  none: 'No servers yet',
  noneLead: 'Game servers appear here seconds after they are added, and everyone can see who is playing.',
  noneHow: 'If you run this site, add the first one on the machine where it runs:',
  addCommand: 'Command that adds a server',
  states: { online: 'Online', offline: 'Offline', full: 'Full', unknown: 'Not checked yet' },
  lastSeen: 'last seen',
  neverSeen: 'never seen online',
  map: 'Map',
  mode: 'Mode',
  region: 'Region',
  ping: 'Ping from here',
  pingHint: 'measured by this site',
  milliseconds: (ms: number) => `${ms} ms`,
  players: 'Players',
  playersOf: (now: number, most: number) => (most > 0 ? `${now} of ${most} players` : players(now)),
  peakOf: (peak: number) => `24-hour peak: ${peak}`,
  noHistory: 'No history yet',
  connect: 'Connect',
  connectTo: (name: string) => `Connect to ${name}`,
  address: (name: string) => `address of ${name}`,
  allServers: 'All servers',
};

/** The page of one server. */
export const server = {
  playersNow: 'Players now',
  player: 'Player',
  score: 'Score',
  time: 'Time here',
  nobody: 'Nobody is playing right now.',
  namesUnknown: 'This server doesn’t share its player list.',
  moreUnnamed: (count: number) =>
    `and ${plural('en', count, { one: 'player', other: 'players' })} without a name`,
  whileOffline: 'The server is offline right now.',
  history: 'Players over time',
  ranges: { day: '24 hours', week: '7 days', month: '30 days' },
  chartTitle: (name: string, range: string) => `${name}: players over the last ${range}`,
  chartSummary: (average: string, peak: number, wasOffline: boolean) =>
    `Average ${average}, peak ${peak}.${wasOffline ? ' Time offline counts as 0 players.' : ''}`,
  chartCapacity: (most: number) => `${most} slots.`,
  chartOffline: 'Red areas: the server was offline. Gaps: it was not checked.',
  unavailable: 'Not available right now.',
  notEnough: 'Not enough data for a chart yet.',
  /** Labels below a chart, evenly spaced from its beginning until now; some are empty to leave room for the others. */
  ago: {
    day: ['24 h ago', '18 h', '12 h', '6 h', 'now'],
    week: ['7 days ago', '', '', '4 d', '', '2 d', '', 'now'],
    month: ['30 days ago', '20 d', '10 d', 'now'],
  },
  asTable: 'Show as a table',
  columns: { since: 'From', average: 'Average', peak: 'Peak', online: 'Online' },
  uptime: 'Uptime, 30 days',
  uptimeLead: 'The share of checks the server answered, day by day.',
  uptimeOn: (day: string, share: string) => `${day}: ${share}`,
  noChecks: 'no checks',
  thirtyDaysAgo: '30 days ago',
  today: 'today',
  maps: 'Maps, 30 days',
  mapsLead: 'How long and how often each map was played.',
  noMaps: 'No maps recorded yet.',
  hours: (amount: number) => `${amount} h`,
  minutes: (amount: number) => `${amount} min`,
  times: (count: number) => plural('en', count, { one: 'time', other: 'times' }),
  otherMaps: (count: number) => plural('en', count, { one: 'other map', other: 'other maps' }),
  banner: 'Banner for forums',
  bannerAlt: (name: string) => `Status of ${name}`,
  bannerCode: 'BBCode',
};

/** The connect page. */
export const connect = {
  title: (name: string) => `Connect to ${name}`,
  open: 'Open in CS2',
  openHint: 'Starts the game through Steam if it is installed on this device.',
  console: 'Or use the console',
  consoleHint: 'Turn on the developer console in the game settings, press ~ and paste this line.',
  consoleLabel: 'console command',
  offline: 'The server did not answer the latest checks, so connecting may fail.',
  full: 'The server is full. You can still try: someone may leave.',
  noAddress: 'This server’s address cannot be opened in the game.',
  details: 'Players and charts',
};

/** The page shown in place of a server that is not listed. */
export const missingServer = {
  title: 'Server not found',
  lead: 'There is no server at this address, or it is no longer on the public list.',
};
