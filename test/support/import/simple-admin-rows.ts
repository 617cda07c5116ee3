import { PLAYER, type SourceRow } from './systems.ts';

export const ADMIN = '76561198900000001';

/** A penalty of the plugin's tables; `values` replace and add columns. */
export const aRow = (values: SourceRow = {}) => ({
  player_name: 'Rzeźnik',
  player_steamid: PLAYER,
  admin_steamid: ADMIN,
  admin_name: 'Ala',
  reason: 'Wallhack',
  duration: 60,
  created: '2026-11-21 11:30:00',
  ends: '2026-11-21 12:30:00',
  server_id: null,
  status: 'ACTIVE',
  ...values,
});
