import { Forbidden } from '../../../src/domain/errors.ts';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import type { MemberRoute } from '../request/member-route.ts';

/** Restricts routes to administrators: for anyone else their handlers throw {@link Forbidden}. */
export function forAdministrators(routes: readonly MemberRoute[]): MemberRoute[] {
  return routes.map((route) => ({
    ...route,
    handle: async (visit, params, identifyAgain) => {
      if (!isAdministrator(visit.user)) throw new Forbidden('this page is for administrators');
      return route.handle(visit, params, identifyAgain);
    },
  }));
}
