// Posts each Event to Slack: to the mirror channel, to the channel that the Disruption names, and to its author.
// Source: spec/chaos.md 2.15.
//
// S1. Each of them is a separate receiver, so the failure of one does not repeat the others.
// S2. An address without a Slack account causes a line in the log and no failure, because authors may not use Slack.

import type { Notifier, Receiver } from '../../run/notifier.ts'
import { ActivityError, type JsonValue } from '../../../workflows/kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND } from '../../../workflows/chaos/contract.ts'
import { fieldsOf, parsedJson, textOf } from '../../../workflows/chaos/json-fields.ts'
import {
  authorOf,
  reachesMinimum,
  notificationType,
  type Occurrence,
  reportingOf,
  slackMessage,
} from '../../../workflows/chaos/notification.ts'
import { urlProblem } from '../../../workflows/chaos/config-section.ts'
import type { SlackNotifierConfig } from '../../../workflows/chaos/notifier-config.ts'
import { occurrenceOf } from './occurrence.ts'
import { sendRequest } from './send-request.ts'
import { secretIn, SecretFileError } from './secret-file.ts'

const KINDS: readonly string[] = [DISRUPTION_KIND, DISRUPTION_CRON_KIND]
/** Slack's temporary errors. Source: Slack, "chat.postMessage": errors. */
const TEMPORARY_ERRORS = new Set([
  ...['ratelimited', 'rate_limited', 'internal_error', 'fatal_error', 'service_unavailable', 'request_timeout'],
  // An administrator may correct the cause of these errors.
  ...['not_in_channel', 'channel_not_found', 'invalid_auth', 'token_expired', 'token_revoked', 'account_inactive'],
])

interface Log {
  warn(fields: object, message: string): void
}

/** @throws a plain Error that names an unreadable or empty file of the token or webhook. */
export function slackNotifier(config: SlackNotifierConfig, clusterName: string, log: Log): Notifier {
  const { tokenFilepath, apiURL } = config
  const webhook = webhookOf(config)
  webhook?.()
  if (tokenFilepath !== undefined) secretIn(tokenFilepath)
  const call = async (method: string, body: object, signal: AbortSignal) =>
    await callMethod({ apiURL, method, body, token: secretIn(tokenFilepath ?? ''), signal })
  return {
    name: 'slack',
    receivers(notification) {
      const occurrence = occurrenceOf(notification)
      if (!KINDS.includes(occurrence.kind)) return []
      const message = slackMessage(occurrence, clusterName) as unknown as JsonValue
      return receiversOf(config, occurrence).map(({ name, ...to }): Receiver => ({ name, payload: { ...to, message } }))
    },
    async send({ payload, subject, reason }, signal) {
      const { to, id, message } = fieldsOf(payload)
      const sent = fieldsOf(message)
      if (to === 'webhook') {
        if (webhook === undefined) throw disabledError('webhook')
        await sendRequest({ notifier: 'slack', method: 'POST', url: webhook(), headers: {}, body: sent, signal })
        return
      }
      if (tokenFilepath === undefined) throw disabledError('token')
      const channel = to === 'person' ? await userIdOf(textOf(id), call, signal) : textOf(id)
      const username = `${subject.kind} Status Bot`
      // S2
      if (channel === undefined)
        log.warn(
          { reason, namespace: subject.namespace, name: subject.name },
          'the author of the Disruption has no Slack account',
        )
      else await call('chat.postMessage', { channel, username, ...sent }, signal)
    },
  }
}

interface SlackReceiver {
  readonly name: string
  readonly to: 'webhook' | 'channel' | 'person'
  /** A channel ID, or the e-mail address of a user. */
  readonly id: string
}

/** S1 */
function receiversOf(config: SlackNotifierConfig, occurrence: Occurrence): readonly SlackReceiver[] {
  const { mirrorSlackChannelId: mirror = '' } = config
  const hasWebhook = config.webhookURL !== undefined || config.webhookURLFilepath !== undefined
  const webhook: readonly SlackReceiver[] = hasWebhook ? [{ name: 'webhook', to: 'webhook', id: '' }] : []
  if (config.tokenFilepath === undefined) return webhook
  const reporting = reportingOf(occurrence.object)
  const wants = reachesMinimum(notificationType(occurrence), textOf(reporting['minNotificationType']))
  const email = textOf(reporting['slackUserEmail'])
  const person = email === '' ? authorOf(occurrence.object).email : email
  const channels = [mirror, ...(wants ? [textOf(reporting['slackChannel'])] : [])].filter((id) => id !== '')
  return [
    ...webhook,
    ...[...new Set(channels)].map((id): SlackReceiver => ({ name: id, to: 'channel', id })),
    ...(wants && person !== '' ? [{ name: person, to: 'person', id: person } as const] : []),
  ]
}

type Call = (method: string, body: object, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>

/** Undefined: no Slack user has the address. */
async function userIdOf(email: string, call: Call, signal: AbortSignal): Promise<string | undefined> {
  const { ok, user } = await call('users.lookupByEmail', { email }, signal)
  return ok === true ? textOf(fieldsOf(user)['id']) : undefined
}

interface MethodCall {
  readonly apiURL: string
  readonly method: string
  readonly body: object
  readonly token: string
  readonly signal: AbortSignal
}

/**
 * @returns a successful response, or the one that no such user exists. @throws ActivityError `SlackRefused`, and as
 * `sendRequest`.
 */
async function callMethod({ apiURL, method, body, token, signal }: MethodCall) {
  const isLookup = method === 'users.lookupByEmail'
  const query = isLookup ? `?${new URLSearchParams(body as Record<string, string>).toString()}` : ''
  const answer = await sendRequest({
    notifier: 'slack',
    url: `${apiURL}${method}${query}`,
    signal,
    ...(isLookup ? { method: 'GET' as const } : { method: 'POST' as const, body }),
    headers: { authorization: `Bearer ${token}` },
  })
  const fields = fieldsOf(parsedJson(answer))
  const error = textOf(fields['error'])
  if (fields['ok'] === true || (isLookup && error === 'users_not_found')) return fields
  // Only Slack's error code, never a text from the response.
  const word = /^[a-z_]{1,60}$/.test(error) ? error : 'an unknown answer'
  throw new ActivityError('SlackRefused', `Slack: ${method}: found ${word}; expected ok`, {
    retryable: error === '' || TEMPORARY_ERRORS.has(error),
  })
}

function webhookOf({ webhookURL, webhookURLFilepath: path }: SlackNotifierConfig): (() => string) | undefined {
  if (webhookURL !== undefined) return () => webhookURL
  if (path === undefined) return undefined
  return () => {
    const url = secretIn(path)
    const problem = urlProblem(url)
    if (problem === undefined) return url
    throw new SecretFileError(`${path}: found ${problem}; expected the https:// URL of a webhook`)
  }
}

function disabledError(what: string): ActivityError {
  return new ActivityError('NotifierOff', `the configuration of Slack has no ${what} any more`, { retryable: false })
}
