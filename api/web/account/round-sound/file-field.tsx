import type { JSX } from 'hono/jsx/jsx-runtime';
import { Icon } from '../../layout/icons.tsx';
import type { Texts } from '../../layout/locales/en.ts';

const ACCEPTED_FILES =
  'audio/*,video/mp4,video/webm,.mp3,.wav,.flac,.ogg,.oga,.opus,.m4a,.aac,.aif,.aiff,.caf,.mka,.mkv,.mov';

/**
 * The field for the file to upload. The browser's own file button uses the browser's language. With scripts enabled the
 * label therefore serves as the button and the script shows the file name; the input remains for keyboards and screen
 * readers.
 */
export function FileField({ label, t }: { label: string; t: Texts['roundSound'] }): JSX.Element {
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
