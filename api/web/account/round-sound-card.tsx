import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { NotFound } from '../../../src/domain/errors.ts';
import { type Language, perLanguage } from '../../../src/domain/language.ts';
import { mayHaveSound, type SoundGroup } from '../../../src/domain/rights/sound-audience.ts';
import { LATEST_START_MS, UNFINISHED_STATUSES } from '../../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  findRoundSounds,
  type RoundSound,
  removeFailedSound,
} from '../../../src/queries/round-sounds/round-sounds.ts';
import { withNewDeadline } from '../../../src/runtime/request.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { Moment } from '../layout/moment.tsx';
import { PostButton, PostForm } from '../layout/post-form.tsx';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import { CSRF_HEADER, requireCsrfToken } from '../request/forms/form.ts';
import { PageError } from '../request/page-error.ts';
import type { IdentifyAgain, UserRoute } from '../request/user-route.ts';
import { type UserVisit, wantsJson } from '../request/visit.ts';
import type { AccountDeps, CardProps } from './account-deps.ts';
import { formatDecimal, Loudness } from './sound-numbers.tsx';
import { SoundPlayer, soundAddress, titleOf, Waveform } from './sound-view.tsx';
import { readUploadForm, START_FIELD, toMegabytes, tooLarge } from './upload-form.ts';

const ACCEPTED_FILES =
  'audio/*,video/mp4,video/webm,.mp3,.wav,.flac,.ogg,.oga,.opus,.m4a,.aac,.aif,.aiff,.caf,.mka,.mkv,.mov';

const HERE = '/account#sound';
const STEPS = [...UNFINISHED_STATUSES, 'ready'] as const;
/** Concurrent uploads: each takes up to 5 MB of memory on a fast connection, whatever its size. */
const MAX_CONCURRENT_UPLOADS = 16;
/** For a whole form: enough for 20 MB at 0.6 Mbit/s. Bun itself closes a connection that is silent for 30 seconds. */
const READ_LIMIT_MS = 300_000;

/** The round-end sound: the current one, the progress of an upload, and the upload form. */
export async function RoundSoundCard({ deps, visit }: CardProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.language).roundSound;
  const { ready, latest } = await findRoundSounds(deps.db, visit.user.steamId64);
  const { maxSeconds, maxUploadBytes, audience } = deps.sounds.limits;
  if (audience !== 'everyone' && !mayHaveSound(audience, visit.user)) {
    return (
      <Card id="sound" title={t.title} icon="sound" notice={visit.notice}>
        <p class="lead">{t.onlyFor(listGroups(audience, visit.language))}</p>
        {/* A sound that is kept is not played, but can be deleted. */}
        {ready && (
          <div class="sound">
            <SoundHead sound={ready} visit={visit} />
            <p class="hint">{t.keptUnheard}</p>
          </div>
        )}
      </Card>
    );
  }
  const megabytes = toMegabytes(maxUploadBytes);
  return (
    <Card id="sound" title={t.title} icon="sound" notice={visit.notice}>
      <p class="lead">{t.lead({ seconds: maxSeconds, megabytes })}</p>
      {ready && <ReadySound sound={ready} visit={visit} />}
      {latest && latest.status !== 'failed' && <Progress sound={latest} visit={visit} hasReady={!!ready} />}
      {latest?.status === 'failed' && <Failure sound={latest} visit={visit} hasReady={!!ready} />}
      {!ready && !latest && <p class="empty">{t.none}</p>}
      <PostForm
        visit={visit}
        class="sound-upload"
        action="/account/roundsound#sound"
        enctype="multipart/form-data"
        data-sound-upload
        data-max-bytes={String(maxUploadBytes)}
        data-too-large={t.tooLarge(megabytes)}
        data-uploading={t.uploading}
        data-failed={t.uploadFailed}
        data-refused-by-proxy={t.refusedByProxy}
      >
        {/*
         * The browser's own file button uses the browser's language. With scripts enabled the label therefore serves as the
         * button and the script shows the file name; the input remains for keyboards and screen readers.
         */}
        <div class="field file-field">
          <input
            id="sound-file"
            name="file"
            type="file"
            accept={ACCEPTED_FILES}
            required
            aria-describedby="sound-file-name"
          />
          <label for="sound-file" class="file-button">
            <Icon name="sound" />
            {ready ? t.replace : t.choose}
          </label>
          <span id="sound-file-name" class="file-name hint" dir="auto" data-file-name>
            {t.noFile}
          </span>
        </div>
        <div
          class="field sound-start"
          data-sound-start
          data-kept-ms={String(maxSeconds * 1000)}
          data-latest-ms={String(LATEST_START_MS)}
          data-marker-label={t.startMarker}
        >
          <p class="hint sound-reading" role="status" data-reading hidden>
            {t.reading}
          </p>
          <label for="sound-start">{t.start}</label>
          <div class="row">
            <input
              id="sound-start"
              name={START_FIELD}
              type="text"
              autocomplete="off"
              maxlength={12}
              value={visit.form.get(START_FIELD) ?? '0:00'}
              aria-describedby="sound-start-hint"
            />
            <button class="button button-quiet" type="button" data-play={t.play} data-stop={t.stop} hidden>
              {t.play}
            </button>
          </div>
          <p class="hint" id="sound-start-hint">
            {t.startHint}
          </p>
        </div>
        <button class="button button-primary" type="submit">
          <Icon name="sound" />
          {t.upload}
        </button>
        <p class="sound-message" role="status" hidden></p>
        <div class="sound-sending" hidden>
          <progress class="sound-bar" max="100" value="0" aria-label={t.uploading}></progress>
          <span class="sound-percent" aria-hidden="true"></span>
        </div>
      </PostForm>
      <script type="module" src={deps.site.assets.url('round-sound.js')}></script>
    </Card>
  );
}

function SoundHead({ sound, visit }: { sound: RoundSound; visit: UserVisit }): JSX.Element {
  const t = textsOf(visit.language).roundSound;
  return (
    <div class="sound-head">
      <strong class="sound-title">
        <bdi>{titleOf(sound)}</bdi>
      </strong>
      <ConfirmButton
        visit={visit}
        action="/account/roundsound/delete"
        label={t.remove}
        title={t.removeTitle}
        lead={t.removeLead(isolate(titleOf(sound)))}
      />
    </div>
  );
}

function listGroups(groups: readonly SoundGroup[], language: Language): string {
  const { groups: names } = textsOf(language).roundSound;
  return listFormat(language).format(groups.map((group) => names[group]));
}

const listFormat = perLanguage(({ intl }) => new Intl.ListFormat(intl));

function ReadySound({ sound, visit }: { sound: RoundSound; visit: UserVisit }): JSX.Element {
  const { language } = visit;
  const t = textsOf(language).roundSound;
  const { loudnessBeforeLufs: before, loudnessAfterLufs: after } = sound;
  return (
    <div class="sound">
      <SoundHead sound={sound} visit={visit} />
      <Waveform peaks={sound.waveform ?? []} label={t.waveformLabel} />
      <SoundPlayer sound={sound} visit={visit} preload="metadata" />
      <Facts
        class="sound-facts"
        facts={[
          [t.facts.length, t.seconds(formatDecimal(language, (sound.durationMs ?? 0) / 1000))],
          [
            t.facts.before,
            before !== null && after !== null && (
              <Loudness lufs={before} normalLufs={after} language={language} />
            ),
          ],
          [t.facts.since, <Moment at={sound.readyAt ?? sound.createdAt} visit={visit} />],
        ]}
      />
    </div>
  );
}

type StateProps = { sound: RoundSound; visit: UserVisit; hasReady: boolean };

function Progress({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = textsOf(visit.language).roundSound;
  const current = sound.status === 'failed' ? -1 : STEPS.indexOf(sound.status);
  return (
    <div class="sound-progress" data-sound-progress role="status">
      <strong>{t.underWay(isolate(titleOf(sound)))}</strong>
      <ol class="sound-steps">
        {STEPS.map((step, index) => (
          <li
            data-step={step}
            class={index < current ? 'step-done' : undefined}
            aria-current={index === current ? 'step' : undefined}
          >
            {t.steps[step]}
          </li>
        ))}
      </ol>
      {hasReady && <p class="hint">{t.stillPlaying}</p>}
      <p class="sound-refresh">
        {/* Differs at each visit: a link that changes only the fragment would not load the page again. */}
        <a href={`/account?check=${visit.now.getTime()}#sound`}>{t.refresh}</a>
      </p>
    </div>
  );
}

function Failure({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = textsOf(visit.language).roundSound;
  return (
    <div class="warning" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{t.failed(isolate(titleOf(sound)))}</strong>
        <br />
        {t.failures[sound.failure ?? 'unavailable']} {hasReady ? t.keptOld : ''}
        <div class="row">
          <PostButton
            visit={visit}
            action="/account/roundsound/dismiss#sound"
            label={t.dismiss}
            class="button button-quiet button-small"
          />
        </div>
      </div>
    </div>
  );
}

/** Routes that upload and delete a sound and dismiss a failure, and the status that the page's script polls. */
export function roundSoundRoutes(deps: AccountDeps): UserRoute[] {
  const receive = createReceiver(deps);
  return [
    {
      method: 'POST',
      path: '/roundsound',
      readsBody: true,
      handle: async (visit, _, identifyAgain) => {
        await receive(visit, identifyAgain);
        if (!wantsJson(visit.request)) return deps.redirect(visit, HERE, 'sound-uploaded');
        return Response.json({ success: true, status: 'queued' }, { status: 202 });
      },
    },
    {
      method: 'GET',
      path: '/roundsound/status',
      isPage: false,
      handle: (visit) => respondWithStatus(deps, visit),
    },
    {
      method: 'POST',
      path: '/roundsound/delete',
      handle: async (visit) =>
        deps.redirect(visit, HERE, await removeSoundOf(deps, visit.user.steamId64, visit)),
    },
    {
      method: 'POST',
      path: '/roundsound/dismiss',
      handle: async (visit) => {
        await removeFailedSound(deps.db, visit.user.steamId64);
        return deps.redirect(visit, HERE);
      },
    },
  ];
}

/** The status that the script polls while an upload is processed. */
async function respondWithStatus({ db }: AccountDeps, visit: UserVisit): Promise<Response> {
  const { ready, latest } = await findRoundSounds(db, visit.user.steamId64);
  const t = textsOf(visit.language).roundSound;
  return Response.json({
    status: latest?.status ?? ready?.status ?? null,
    message: latest?.failure ? t.failures[latest.failure] : null,
    url: ready ? soundAddress(ready) : null,
    title: ready?.title ?? null,
  });
}

/**
 * Removes a player's sound in the name of the visitor.
 * @returns what to tell them: the sound may already be gone, for example by the same form in another tab.
 */
export async function removeSoundOf(
  { sounds }: Pick<AccountDeps, 'sounds'>,
  steamId64: SteamId64,
  { user }: Pick<UserVisit, 'user'>,
): Promise<NoticeKey> {
  try {
    await sounds.removeSound({ steamId64, actor: { userId: user.id } });
    return 'sound-removed';
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    return 'sound-already-removed';
  }
}

/**
 * Creates a function that stores an uploaded file while it is being received, unless the session has ended by the time it
 * has arrived. The CSRF token is sent in the header, or as a field before or after the file. Each user may run one upload
 * at a time, and all of them sixteen; further ones are refused with 503.
 */
function createReceiver({ signer, sounds }: AccountDeps) {
  const { limits } = sounds;
  const { maxUploadBytes } = limits;
  const uploadingUserIds = new Set<number>();
  return async ({ request, session, user, form }: UserVisit, identifyAgain: IdentifyAgain) => {
    if (!mayHaveSound(limits.audience, user)) throw new PageError('sound-not-allowed', 403);
    const requireToken = (field: string | undefined) => requireCsrfToken(signer, session, request, field);
    if (request.headers.has(CSRF_HEADER)) requireToken(undefined);
    if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes + 64 * 1024) {
      throw tooLarge(maxUploadBytes);
    }
    if (uploadingUserIds.has(user.id) || uploadingUserIds.size >= MAX_CONCURRENT_UPLOADS) {
      throw new PageError('sound-busy', 503);
    }
    uploadingUserIds.add(user.id);
    try {
      const { steamId64 } = user;
      const upload = await readUploadForm(request, {
        maxBytes: maxUploadBytes,
        limitMs: READ_LIMIT_MS,
        requireToken,
        values: form,
        identifyAgain,
        receive: (bytes) => sounds.receiveUpload(steamId64, bytes),
      });
      await withNewDeadline(() => sounds.queueUpload({ ...upload, steamId64, actor: { userId: user.id } }));
    } finally {
      uploadingUserIds.delete(user.id);
    }
  };
}
