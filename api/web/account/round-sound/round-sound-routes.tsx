import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { findRoundSounds, removeFailedSound } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { ConfirmPage } from '../../layout/confirm.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { type FormProblem, withFormShownAgain } from '../../request/forms/form-problem.ts';
import type { MemberRoute } from '../../request/member-route.ts';
import { respondWithPage } from '../../request/page-response.ts';
import { type MemberVisit, wantsJson } from '../../request/visit.ts';
import { createReceiver } from './receive-upload.ts';
import { removeSoundOf } from './remove-sound.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';
import { soundAddress } from './round-sound-player.tsx';
import { titleOf } from './sound-words.tsx';

const HERE = '/account#sound';

/** The account page, with the form as it was sent except for the file. */
type ShowAgain = { showAgain: (visit: MemberVisit, problem: FormProblem) => JSX.Element };

/** Routes that upload and delete a sound and dismiss a failure, and the status that the page's script polls. */
export function roundSoundRoutes(deps: RoundSoundDeps & ShowAgain): MemberRoute[] {
  const receive = createReceiver(deps);
  return [
    {
      method: 'POST',
      path: '/roundsound',
      readsBody: true,
      handle: (visit, _, identifyAgain) =>
        upload(deps, visit, (values) => receive(visit, identifyAgain, values)),
    },
    {
      method: 'GET',
      path: '/roundsound/status',
      isPage: false,
      handle: (visit) => respondWithStatus(deps, visit),
    },
    { method: 'GET', path: '/roundsound/delete', handle: (visit) => showRemoveConfirmation(deps, visit) },
    { method: 'POST', path: '/roundsound/delete', handle: (visit) => remove(deps, visit) },
    { method: 'POST', path: '/roundsound/dismiss', handle: (visit) => dismissFailure(deps, visit) },
  ];
}

async function upload(
  deps: RoundSoundDeps & ShowAgain,
  visit: MemberVisit,
  receive: (values: Map<string, string>) => Promise<void>,
): Promise<Response> {
  const values = new Map<string, string>();
  if (wantsJson(visit.request)) {
    await receive(values);
    return Response.json({ success: true, status: 'queued' }, { status: 202 });
  }
  const show = (problem: FormProblem) => deps.showAgain(visit, problem);
  return withFormShownAgain(visit, { values, show }, async () => {
    await receive(values);
    return deps.redirect(visit, HERE, 'sound-uploaded');
  });
}

/** The status that the script polls while an upload is processed. */
async function respondWithStatus({ db }: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  const { ready, latest } = await findRoundSounds(db, visit.user.steamId64);
  const status = latest?.status ?? ready?.status ?? null;
  const t = textsOf(visit.locale).roundSound;
  return Response.json({
    status,
    message: latest?.failure ? t.failures[latest.failure] : null,
    url: ready ? soundAddress(ready) : null,
    title: ready?.title ?? null,
  });
}

async function showRemoveConfirmation(
  { db, site, redirect }: RoundSoundDeps,
  visit: MemberVisit,
): Promise<Response> {
  const t = textsOf(visit.locale).roundSound;
  const { ready, latest } = await findRoundSounds(db, visit.user.steamId64);
  const sound = ready ?? latest;
  if (!sound) return redirect(visit, HERE, 'sound-already-removed');
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead(isolate(titleOf(sound)))}
      label={t.remove}
      back={HERE}
    />,
  );
}

async function remove(deps: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  return deps.redirect(visit, HERE, await removeSoundOf(deps, visit.user.steamId64, visit));
}

async function dismissFailure(deps: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  await removeFailedSound(deps.db, visit.user.steamId64);
  return deps.redirect(visit, HERE);
}
