import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Language } from '../../../../src/domain/language.ts';
import { mayHaveSound, type SoundGroup } from '../../../../src/domain/rights/sound-audience.ts';
import { LATEST_START_MS, UNFINISHED_STATUSES } from '../../../../src/domain/round-sound.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import { findRoundSounds, type RoundSound } from '../../../../src/queries/round-sounds/round-sounds.ts';
import { Card, ProblemLine } from '../../layout/card.tsx';
import { ConfirmLink } from '../../layout/confirm.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { Icon } from '../../layout/icons.tsx';
import type { Texts } from '../../layout/locales/en.ts';
import { textsOf } from '../../layout/locales/texts.ts';
import { Moment } from '../../layout/moment.tsx';
import type { FormProblem } from '../../request/forms/form-problem.ts';
import type { Notice } from '../../request/notice.ts';
import type { MemberVisit } from '../../request/visit.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';
import { SoundPlayer, Waveform } from './round-sound-player.tsx';
import { formatDecimal, LoudnessAfter, LoudnessBefore, titleOf } from './sound-words.tsx';
import { START_FIELD, toMegabytes } from './upload-form.ts';

const ACCEPTED_FILES =
  'audio/*,video/mp4,video/webm,.mp3,.wav,.flac,.ogg,.oga,.opus,.m4a,.aac,.aif,.aiff,.caf,.mka,.mkv,.mov';

const STEPS = [...UNFINISHED_STATUSES, 'ready'] as const;

type RoundSoundProps = {
  deps: Pick<RoundSoundDeps, 'db' | 'site' | 'sounds'>;
  visit: MemberVisit;
  notice: Notice | undefined;
  problem: FormProblem | undefined;
};

/** The round-end sound: the current one, the progress of an upload, and the upload form. */
export async function RoundSoundCard({
  deps,
  visit,
  notice,
  problem,
}: RoundSoundProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).roundSound;
  const { ready, latest } = await findRoundSounds(deps.db, visit.user.steamId64);
  const { maxSeconds, maxUploadBytes, audience = 'everyone' } = deps.sounds.limits;
  if (audience !== 'everyone' && !mayHaveSound(audience, visit.user)) {
    return (
      <Card id="sound" title={t.title} icon="sound" notice={notice}>
        <p class="lead">{t.onlyFor(listGroups(audience, visit.locale))}</p>
        {ready && <KeptSound sound={ready} visit={visit} />}
      </Card>
    );
  }
  const megabytes = toMegabytes(maxUploadBytes);
  return (
    <Card id="sound" title={t.title} icon="sound" notice={notice}>
      <p class="lead">{t.lead({ seconds: maxSeconds, megabytes })}</p>
      {ready && <ReadySound sound={ready} visit={visit} />}
      {latest && latest.status !== 'failed' && <Progress sound={latest} visit={visit} hasReady={!!ready} />}
      {latest?.status === 'failed' && <Failure sound={latest} visit={visit} hasReady={!!ready} />}
      {!ready && !latest && <p class="empty">{t.none}</p>}
      <form
        class="sound-upload"
        method="post"
        action="/account/roundsound#sound"
        enctype="multipart/form-data"
        data-sound-upload
        data-max-bytes={String(maxUploadBytes)}
        data-too-large={t.tooLarge(megabytes)}
        data-uploading={t.uploading}
        data-failed={t.uploadFailed}
        data-refused-by-proxy={t.refusedByProxy}
      >
        <CsrfField visit={visit} />
        {problem && <ProblemLine message={problem.message} />}
        <FileField label={ready ? t.replace : t.choose} t={t} />
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
              value={problem?.values.get(START_FIELD) ?? '0:00'}
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
      </form>
      <script type="module" src={deps.site.assets.url('round-sound.js')}></script>
    </Card>
  );
}

/**
 * The field for the file to upload. The browser's own file button uses the browser's language. With scripts enabled the
 * label therefore serves as the button and the script shows the file name; the input remains for keyboards and screen
 * readers.
 */
function FileField({ label, t }: { label: string; t: Texts['roundSound'] }): JSX.Element {
  return (
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
        {label}
      </label>
      <span id="sound-file-name" class="file-name hint" dir="auto" data-file-name>
        {t.noFile}
      </span>
    </div>
  );
}

/** A stored sound whose owner is no longer allowed to have one: it is not played, but can be deleted. */
function KeptSound({ sound, visit }: { sound: RoundSound; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).roundSound;
  return (
    <div class="sound">
      <SoundHead sound={sound} visit={visit} />
      <p class="hint">{t.keptUnheard}</p>
    </div>
  );
}

function SoundHead({ sound, visit }: { sound: RoundSound; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).roundSound;
  const title = titleOf(sound);
  return (
    <div class="sound-head">
      <strong class="sound-title">
        <bdi>{title}</bdi>
      </strong>
      <ConfirmLink
        href="/account/roundsound/delete"
        label={t.remove}
        title={t.removeTitle}
        lead={t.removeLead(isolate(title))}
        visit={visit}
      />
    </div>
  );
}

function listGroups(groups: readonly SoundGroup[], locale: Language): string {
  const { groups: names } = textsOf(locale).roundSound;
  return listFormat(locale).format(groups.map((group) => names[group]));
}

const listFormat = perLanguage((tag) => new Intl.ListFormat(tag));

function ReadySound({ sound, visit }: { sound: RoundSound; visit: MemberVisit }): JSX.Element {
  const { locale } = visit;
  const t = textsOf(locale).roundSound;
  const { loudnessBeforeLufs: before, loudnessAfterLufs: after } = sound;
  return (
    <div class="sound">
      <SoundHead sound={sound} visit={visit} />
      <Waveform peaks={sound.waveform ?? []} label={t.waveformLabel} />
      <SoundPlayer sound={sound} visit={visit} preload="metadata" />
      <dl class="sound-facts">
        <Fact name={t.facts.length}>{t.seconds(formatDecimal(locale, (sound.durationMs ?? 0) / 1000))}</Fact>
        {before !== null && after !== null && (
          <>
            <Fact name={t.facts.before}>
              <LoudnessBefore before={before} after={after} locale={locale} />
            </Fact>
            <Fact name={t.facts.after}>
              <LoudnessAfter after={after} locale={locale} />
            </Fact>
          </>
        )}
        <Fact name={t.facts.since}>
          <Moment at={sound.readyAt ?? sound.createdAt} visit={visit} />
        </Fact>
      </dl>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: Child }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type StateProps = { sound: RoundSound; visit: MemberVisit; hasReady: boolean };

function Progress({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = textsOf(visit.locale).roundSound;
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
        <a href={addressOfCheck(visit)}>{t.refresh}</a>
      </p>
    </div>
  );
}

/** An address that differs at each visit: a link that changes only the fragment would not load the page again. */
function addressOfCheck({ now }: MemberVisit): string {
  return `/account?check=${now.getTime()}#sound`;
}

function Failure({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = textsOf(visit.locale).roundSound;
  return (
    <div class="warning" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{t.failed(isolate(titleOf(sound)))}</strong>
        <br />
        {t.failures[sound.failure ?? 'unavailable']} {hasReady ? t.keptOld : ''}
        <form method="post" action="/account/roundsound/dismiss#sound" class="row">
          <CsrfField visit={visit} />
          <button class="button button-quiet button-small" type="submit">
            {t.dismiss}
          </button>
        </form>
      </div>
    </div>
  );
}
