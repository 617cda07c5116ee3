import type { PenaltySystem } from '../domain/systems.ts';
import { IKS } from './iks.ts';
import { simpleAdminSystem } from './simple-admin/simple-admin.ts';
import type { SourceSystem } from './source-system.ts';
import { sourcebansSystem } from './sourcebans/sourcebans.ts';

/** What the settings of a system, or the options of its command, say about its rows. */
export type SystemOptions = {
  timezone?: string | undefined;
  prefix?: string | undefined;
  trustsOnlineTime?: boolean | undefined;
};

/** The reader of each system. @throws {InvalidInput} for an invalid option. */
export const OPENERS: Readonly<Record<PenaltySystem, (options: SystemOptions) => SourceSystem>> = {
  simpleadmin: simpleAdminSystem,
  sourcebans: sourcebansSystem,
  iks: () => IKS,
};
