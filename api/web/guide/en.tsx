import { ErrorTable, type Guide, Samples } from './parts.tsx';
import {
  banList,
  browserRequest,
  conditionalRequest,
  firstRequest,
  requestWithToken,
  streamRequest,
  WEBHOOK_RECEIVERS,
} from './samples.ts';

export const GUIDE_EN: Guide = {
  title: 'Community API',
  lead: 'The servers, penalties, players and round-end sounds of this community, for websites, game servers and bots. Servers and sounds are public; everything else needs a token.',
  contents: 'Contents',
  reference: 'Reference',
  sections: [
    {
      id: 'first-request',
      title: 'Your first request',
      body: ({ publicUrl }) => (
        <>
          <p>Paste one of these. Each prints the servers and how many players they have.</p>
          <Samples samples={firstRequest(publicUrl)} />
          <p>
            Every path works under <code>/index.php/api/v1</code> too, and HEAD works wherever GET does.
          </p>
        </>
      ),
    },
    {
      id: 'token',
      title: 'Get a token',
      body: ({ publicUrl }) => (
        <>
          <p>
            Sign in on the <a href="/account#tokens">account page</a> and create a token. It is shown once:
            keep it where your program reads its secrets (in these examples, the environment variable{' '}
            <code>API_TOKEN</code>), and never in a page that others open.
          </p>
          <Samples samples={requestWithToken(publicUrl)} />
          <p>
            If you cannot send a header, put the token in the query as <code>api_token</code>; a header takes
            priority. Tick only the scopes that your program needs. A request for which the token lacks a
            scope gets status 403, and the message names the scope. <code>/token</code> shows the scopes of a
            token, when it expires and its limit.
          </p>
        </>
      ),
    },
    {
      id: 'limits',
      title: 'Limits',
      body: ({ limits }) => (
        <>
          <p>
            Public routes allow {limits.public} requests a minute for each IP address, routes that need a
            token {limits.protected} a minute for each token owner, however many tokens they have. The header{' '}
            <code>X-RateLimit-Remaining</code> of every response says how many are left. Beyond the limit you
            get status 429: wait as many seconds as <code>Retry-After</code> says.
          </p>
          <p>
            Routes that take a list of ids cover up to 100 players in one request: ask for many at once rather
            than one after another.
          </p>
        </>
      ),
    },
    {
      id: 'errors',
      title: 'Errors',
      body: () => (
        <>
          <p>
            Every error has a status and the body <code>{'{"success": false, "message": "…"}'}</code>. The
            message is for people; programs should decide by the status.
          </p>
          <ErrorTable
            heads={['Status', 'Meaning', 'What to do']}
            rows={[
              ['400', "A parameter isn't valid.", 'Correct it: the message says how.'],
              [
                '401',
                "No token was given, or it isn't valid.",
                <>
                  Create one on the <a href="/account#tokens">account page</a>.
                </>,
              ],
              ['403', 'The token lacks a scope.', 'Create one that has it.'],
              ['404', 'Not found.', 'Check the address and the id.'],
              ['410', 'The cursor is too old or unknown.', 'Start again with an export.'],
              [
                '429',
                'Too many requests.',
                <>
                  Try again when <code>Retry-After</code> says: 44 is in 44 seconds.
                </>,
              ],
              ['500, 503', 'A problem on our side.', 'Try again after a pause.'],
            ]}
          />
        </>
      ),
    },
    {
      id: 'ban-list',
      title: 'A ban list on your own site',
      body: ({ publicUrl }) => (
        <>
          <p>
            Your server asks, so that nobody sees your token, and keeps each response for 30 seconds: however
            many people open the list, it stays below the limit. Should the API refuse or fail, the last list
            stays.
          </p>
          <Samples samples={banList(publicUrl)} />
        </>
      ),
    },
    {
      id: 'paging',
      title: 'Filters and pages',
      body: () => (
        <>
          <p>
            Every list of penalties takes <code>created_from</code> and <code>created_to</code> (a date is a
            whole day in UTC), <code>reason</code> (part of its text) and <code>sort</code>, such as{' '}
            <code>-ends</code>, together with its other filters. A misspelled filter is an error, not a list
            of everything.
          </p>
          <p>
            Lists of penalties are paginated: <code>page</code> starts at 1, <code>per_page</code> defaults to
            50 and is at most 100. <code>meta.total</code> and <code>meta.last_page</code> are exact, and the{' '}
            <code>Link</code> header leads to the first, previous, next and last page. To keep a copy of all
            penalties, don't walk the pages: <a href="#changes">export them once and follow the changes</a>.
          </p>
        </>
      ),
    },
    {
      id: 'changes',
      title: 'Follow changes',
      body: ({ publicUrl }) => (
        <>
          <p>
            <code>/penalties/export</code> returns all penalties and, in its last line, a cursor.{' '}
            <code>/penalties/changes</code> returns what changed after a cursor, in order: together they miss
            nothing and repeat nothing. Both also say in <code>lifted</code> who lifted a penalty. To hear of
            changes the moment they happen, keep a stream open:
          </p>
          <Samples samples={[streamRequest(publicUrl)]} />
          <p>
            A client that was disconnected sends the last <code>id</code> it saw as <code>Last-Event-ID</code>{' '}
            and resumes there; events are kept for 30 days. A stream of server events and{' '}
            <code>sound.changed</code> alone, such as <code>?types=server.players</code>, needs no token.
          </p>
        </>
      ),
    },
    {
      id: 'webhooks',
      title: 'Receive webhooks',
      body: () => (
        <>
          <p>
            Administrators can have events sent to an address of yours as{' '}
            <a href="https://www.standardwebhooks.com/">Standard Webhooks</a>; they get a secret for it, once.
            Anybody can post to your address, so verify every message with that secret. A message may arrive
            twice: ignore a <code>webhook-id</code> that you have seen. Respond with a 2xx status within 10
            seconds, and work afterwards.
          </p>
          <Samples samples={WEBHOOK_RECEIVERS} />
        </>
      ),
    },
    {
      id: 'browser',
      title: 'In the browser',
      body: ({ publicUrl }) => (
        <>
          <p>
            Pages of any site may ask the public routes, servers and sounds, from the browser; each visitor
            then has a limit of their own. Never put a token into a page, a script or an app that others open:
            whoever opens it can read all that the token may read. What needs a token goes through your
            server, as in <a href="#ban-list">the ban list</a>.
          </p>
          <Samples samples={[browserRequest(publicUrl)]} />
        </>
      ),
    },
    {
      id: 'caching',
      title: 'Caching',
      body: ({ publicUrl }) => (
        <>
          <p>
            Public responses and <code>/penalties/{'{id}'}</code> carry an <code>ETag</code>. Send it back as{' '}
            <code>If-None-Match</code>: while nothing has changed you get status 304 without a body.
          </p>
          <Samples samples={[conditionalRequest(publicUrl)]} />
          <p>
            Caches may keep the server list for two seconds. Responses that need a token never come from a
            cache: whether a ban is active is always current.
          </p>
        </>
      ),
    },
    {
      id: 'times',
      title: 'Times and ids',
      body: () => (
        <p>
          Times are in UTC, in whole seconds, such as <code>2026-11-21T10:00:00+00:00</code>. SteamIDs and
          Discord ids are strings, because they are too large for a number in JavaScript. Parameters take
          SteamIDs as SteamID64, <code>STEAM_1:1:19867136</code> or <code>[U:1:39734273]</code>. A duration is
          in minutes; 0 is permanent, and then <code>ends</code> is null.
        </p>
      ),
    },
    {
      id: 'versions',
      title: 'Versions, and what may change',
      body: ({ version }) => (
        <p>
          This is version {version} of the service. Everything under <code>/api/v1</code> stays as it is:
          fields keep their names, types and meaning. Operations marked as extensions may gain fields and
          parameters, and there may be new operations and event types: ignore what you don't know. Anything
          that would break a client gets a new base path, such as <code>/api/v2</code>. The{' '}
          <a href="/swagger/json">OpenAPI document</a> is generated from the running program, and clients can
          be generated from it.
        </p>
      ),
    },
  ],
};
