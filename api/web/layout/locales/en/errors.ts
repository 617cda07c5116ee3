import { pluralForm } from '../../../../../src/domain/text/plural.ts';

/** Error pages: their headings, and a sentence for each failure. */
export const errors = {
  titles: {
    unauthorized: 'Not signed in',
    forbidden: 'No access',
    notFound: 'Page not found',
    tooMany: 'Too many attempts',
    unavailable: 'Temporarily unavailable',
    form: 'Check the form',
    failed: 'Something went wrong',
  },
  home: 'Back to the account page',
  toForm: 'Back to the form',
  retry: 'Try again',
  'sign-in-refused':
    'We could not verify Steam’s response, so you are not signed in. This happens when signing in takes longer than ten minutes, was started in another browser, or the link was used twice.',
  'link-refused':
    'We could not verify Discord’s response, so nothing was linked. This happens when linking takes longer than ten minutes, was started in another browser, or the link was used twice.',
  'discord-linked-elsewhere':
    'This Discord account is already linked to another player. Unlink it there first, or ask an administrator.',
  'steam-unavailable': 'Steam is not responding right now. Please try again in a few minutes.',
  'discord-unavailable': 'Discord is not responding right now. Please try again in a few minutes.',
  unavailable: 'The service is not responding right now. Please try again in a minute.',
  'signed-out': 'You are not signed in, or your session has ended. Nothing has changed.',
  blocked: 'An administrator has blocked your account here. You cannot sign in or upload anything.',
  because: (reason: string) => `Reason: ${reason}`,
  forbidden: 'You do not have permission to do this.',
  'form-refused':
    'This form has expired or was not sent from this page. Nothing has changed: please go back and try again.',
  'not-found': 'This page does not exist, or what it showed has been removed.',
  'only-forms': 'There is no page at this address: it only receives a form.',
  'no-forms': 'This page does not receive forms. Nothing has changed.',
  'token-name': 'Give the token a name of 1 to 64 characters.',
  'token-scopes': 'Tick at least one thing that the token may read.',
  'tokens-for-admins': 'Only administrators can create API tokens here. No token was created.',
  'token-limit': 'You already have the maximum number of active tokens. Revoke one you no longer need first.',
  'webhook-discord':
    'Discord doesn’t accept these messages. To post penalties in a channel, use the bot’s command /feed there.',
  'webhook-url':
    'The address must begin with https://, be reachable on the internet and contain no user name or password. No webhook was added.',
  'webhook-types': 'Tick at least one kind of event. No webhook was added.',
  'webhook-limit': 'You have reached the maximum number of webhooks. Remove one first.',
  'block-reason': (most: number) =>
    `The reason can have ${most} characters at most. The user was not blocked.`,
  'note-text': (most: number) => `A note can have 1 to ${most} characters. Nothing was saved.`,
  'address-too-long': 'This address is too long.',
  'invalid-input': 'Something in the form is not valid. Please go back and check it.',
  'sound-missing': 'Choose a file first. Nothing was uploaded.',
  'sound-empty': 'This file is empty. Choose another one.',
  'sound-not-allowed':
    'You cannot have a round-end sound here, so nothing was uploaded. Your account page shows who can.',
  'sound-too-slow': 'The upload took too long. Please try a smaller file or a faster connection.',
  'sound-start':
    'Enter the start as minutes and seconds up to 10:00, such as 1:07 or 1:07.5. Nothing was uploaded.',
  'sound-busy':
    'Your last upload is still in progress, or too many people are uploading at once. Please try again in a moment.',
  'sound-too-large': (megabytes: number) =>
    `The file is larger than ${megabytes} MB. Nothing was uploaded: make it shorter or save it in another format.`,
  'too-many-requests': (seconds: number) =>
    `Too many attempts in a short time. Please try again in ${seconds} ${pluralForm('en', seconds, { one: 'second', other: 'seconds' })}.`,
  internal: 'Something went wrong on our side, and we have logged it. Please try again later.',
  requestId: (id: string) => `Request ID: ${id}`,
};
