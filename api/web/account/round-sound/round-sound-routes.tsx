import type { JSX } from 'hono/jsx/jsx-runtime';
import { mayHaveSound } from '../../../../src/domain/rights/sound-audience.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { findRoundSounds, removeFailedSound } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { ConfirmPage } from '../../layout/confirm.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { CSRF_HEADER, requireCsrfToken } from '../../request/forms/form.ts';
import { type FormProblem, withFormShownAgain } from '../../request/forms/form-problem.ts';
import type { IdentifyAgain, MemberRoute } from '../../request/member-route.ts';
import { PageError } from '../../request/page-error.ts';
import { respondWithPage } from '../../request/page-response.ts';
import { type MemberVisit, wantsJson } from '../../request/visit.ts';
import { removeSoundOf } from './remove-sound.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';
import { soundAddress } from './round-sound-player.tsx';
import { titleOf } from './sound-words.tsx';
import { readUploadForm, tooLarge } from './upload-form.ts';

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

/** Concurrent uploads: each takes up to 5 MB of memory on a fast connection, whatever its size. */
const MAX_CONCURRENT_UPLOADS = 16;
/** For a whole form: enough for 20 MB at 0.6 Mbit/s. Bun itself closes a connection that is silent for 30 seconds. */
const READ_LIMIT_MS = 300_000;

/**
 * Stores the file that a request uploads, unless the session has ended by the time it has arrived.
 * @param values receives what the form shows again when it is refused.
 */
type ReceiveUpload = (
  visit: MemberVisit,
  identifyAgain: IdentifyAgain,
  values: Map<string, string>,
) => Promise<void>;

/**
 * Creates a function that stores an uploaded file while it is being received. The CSRF token is sent in the header, or
 * as a field before or after the file. Each user may run one upload at a time, and all of them sixteen; further ones are
 * refused with 503.
 */
function createReceiver({
  signer,
  sounds: { limits, storeUpload },
}: Pick<RoundSoundDeps, 'signer' | 'sounds'>): ReceiveUpload {
  const { maxUploadBytes } = limits;
  const uploadingUserIds = new Set<number>();
  return async ({ request, session, user }, identifyAgain, values) => {
    if (!mayHaveSound(limits.audience ?? 'everyone', user)) throw new PageError('sound-not-allowed', 403);
    const token = request.headers.get(CSRF_HEADER);
    const requireToken = (field: string | undefined) =>
      requireCsrfToken(signer, session, request, token ?? field);
    if (token !== null) requireToken(undefined);
    if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes + 64 * 1024) {
      throw tooLarge(maxUploadBytes);
    }
    if (uploadingUserIds.has(user.id) || uploadingUserIds.size >= MAX_CONCURRENT_UPLOADS) {
      throw new PageError('sound-busy', 503);
    }
    uploadingUserIds.add(user.id);
    try {
      await readUploadForm(request, {
        maxBytes: maxUploadBytes,
        limitMs: READ_LIMIT_MS,
        requireToken,
        values,
        identifyAgain,
        store: (file) =>
          storeUpload({
            steamId64: user.steamId64,
            fileName: file.fileName,
            bytes: file.bytes,
            get start() {
              return file.start;
            },
            actor: { userId: user.id },
          }),
      });
    } finally {
      uploadingUserIds.delete(user.id);
    }
  };
}
