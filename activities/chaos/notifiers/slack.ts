// Posts each Event to Slack: to the channel that mirrors everything, to the one that the Disruption names, and to its author. Source: spec/chaos.md 2.15.
//
//   S1. Each of them is a receiver of its own: where one fails, the others are not told twice.
//   S2. An address that nobody in Slack has is a line in the log, and no failure: authors may not be there at all.

import type { Notifier, Receiver } from '../../run/notifier.ts'
import { ActivityError, type JsonValue } from '../../../workflows/kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND } from '../../../workflows/chaos/contract.ts'
import { fieldsOf, parsedJson, textOf } from '../../../workflows/chaos/json-fields.ts'
import {
  authorOf,
  isAllowed,
  notificationType,
  type Occurrence,
  reportingOf,
} from '../../../workflows/chaos/notification.ts'
import { urlProblem } from '../../../workflows/chaos/config-section.ts'
import type { SlackNotifierConfig } from '../../../workflows/chaos/notifier-config.ts'
import { slackMessage } from '../../../workflows/chaos/slack-message.ts'
import { occurrenceOf } from './occurrence.ts'
import { ask } from './post.ts'
import { secretIn, SecretFileError } from './secret-file.ts'

const KINDS: readonly string[] = [DISRUPTION_KIND, DISRUPTION_CRON_KIND]
/** What of Slack's errors may pass. Source: Slack, "chat.postMessage": errors. */
const PASSING = new Set([
  ...['ratelimited', 'rate_limited', 'internal_error', 'fatal_error', 'service_unavailable', 'request_timeout'],
  // Somebody may set right what is asked for meanwhile.
  ...['not_in_channel', 'channel_not_found', 'invalid_auth', 'token_expired', 'token_revoked', 'account_inactive'],
])

interface Log {
  warn(fields: object, message: string): void
}

/** @throws a plain Error that names the file of the token or webhook that cannot be read, or has none. */
export function slackNotifier(config: SlackNotifierConfig, clusterName: string, log: Log): Notifier {
  const { tokenFilepath, apiURL } = config
  const webhook = webhookOf(config)
  webhook?.()
  if (tokenFilepath !== undefined) secretIn(tokenFilepath)
  const call = async (method: string, body: object, signal: AbortSignal) =>
    await callMethod({ apiURL, method, body, token: secretIn(tokenFilepath ?? ''), signal })
  return {
    name: 'slack',
    receivers(told) {
      const occurrence = occurrenceOf(told)
      if (!KINDS.includes(occurrence.kind)) return []
      const message = slackMessage(occurrence, clusterName) as unknown as JsonValue
      return placesOf(config, occurrence).map(({ name, ...to }): Receiver => ({ name, payload: { ...to, message } }))
    },
    async send({ payload, subject, reason }, signal) {
      const { to, id, message } = fieldsOf(payload)
      const sent = fieldsOf(message)
      if (to === 'webhook') {
        if (webhook === undefined) throw gone('webhook')
        await ask({ who: 'slack', method: 'POST', url: webhook(), headers: {}, body: sent, signal })
        return
      }
      if (tokenFilepath === undefined) throw gone('token')
      const channel = to === 'person' ? await personOf(textOf(id), call, signal) : textOf(id)
      const username = `${subject.kind} Status Bot`
      // S2
      if (channel === undefined) log.warn({ reason, name: subject.name }, 'the author has no account in Slack')
      else await call('chat.postMessage', { channel, username, ...sent }, signal)
    },
  }
}

interface Place {
  readonly name: string
  readonly to: 'webhook' | 'channel' | 'person'
  /** Of the channel; the address of a person. */
  readonly id: string
}

/** S1 */
function placesOf(config: SlackNotifierConfig, told: Occurrence): readonly Place[] {
  const { mirrorSlackChannelId: mirror = '' } = config
  const hasWebhook = config.webhookURL !== undefined || config.webhookURLFilepath !== undefined
  const webhook: readonly Place[] = hasWebhook ? [{ name: 'webhook', to: 'webhook', id: '' }] : []
  if (config.tokenFilepath === undefined) return webhook
  const reporting = reportingOf(told.object)
  const wants = isAllowed(notificationType(told), textOf(reporting['minNotificationType']))
  const email = textOf(reporting['slackUserEmail'])
  const person = email === '' ? authorOf(told.object).email : email
  const channels = [mirror, ...(wants ? [textOf(reporting['slackChannel'])] : [])].filter((id) => id !== '')
  return [
    ...webhook,
    ...[...new Set(channels)].map((id): Place => ({ name: id, to: 'channel', id })),
    ...(wants && person !== '' ? [{ name: person, to: 'person', id: person } as const] : []),
  ]
}

type Call = (method: string, body: object, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>

/** Undefined: nobody in Slack has the address. */
async function personOf(email: string, call: Call, signal: AbortSignal): Promise<string | undefined> {
  const { ok, user } = await call('users.lookupByEmail', { email }, signal)
  return ok === true ? textOf(fieldsOf(user)['id']) : undefined
}

interface Calling {
  readonly apiURL: string
  readonly method: string
  readonly body: object
  readonly token: string
  readonly signal: AbortSignal
}

/** @returns the answer, where it is ok, or says that there is no such person. @throws ActivityError `SlackRefused`, and as `ask`. */
async function callMethod({ apiURL, method, body, token, signal }: Calling) {
  const isLookup = method === 'users.lookupByEmail'
  const query = isLookup ? `?${new URLSearchParams(body as Record<string, string>).toString()}` : ''
  const answer = await ask({
    who: 'slack',
    url: `${apiURL}${method}${query}`,
    signal,
    ...(isLookup ? { method: 'GET' as const } : { method: 'POST' as const, body }),
    headers: { authorization: `Bearer ${token}` },
  })
  const fields = fieldsOf(parsedJson(answer))
  const error = textOf(fields['error'])
  if (fields['ok'] === true || (isLookup && error === 'users_not_found')) return fields
  // Slack's word, never a text that it may have been sent.
  const word = /^[a-z_]{1,60}$/.test(error) ? error : 'an answer that is none of Slack'
  throw new ActivityError('SlackRefused', `slack answers ${method} with ${word}; expected ok`, {
    retryable: error === '' || PASSING.has(error),
  })
}

function webhookOf({ webhookURL, webhookURLFilepath: path }: SlackNotifierConfig): (() => string) | undefined {
  if (webhookURL !== undefined) return () => webhookURL
  if (path === undefined) return undefined
  return () => {
    const url = secretIn(path)
    const problem = urlProblem(url)
    if (problem === undefined) return url
    throw new SecretFileError(`${path}: found ${problem}, expected the https:// URL of a webhook`)
  }
}

function gone(what: string): ActivityError {
  return new ActivityError('NotifierOff', `the configuration of slack has no ${what} any more`, { retryable: false })
}
