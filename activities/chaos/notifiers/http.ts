// Sends a JSON:API document about each Event to the URL of its kind. Source: spec/chaos.md 2.15.

import type { Notifier } from '../../run/notifier.ts'
import { ActivityError } from '../../../workflows/kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND } from '../../../workflows/chaos/contract.ts'
import { httpDocument } from '../../../workflows/chaos/notification.ts'
import type { HttpNotifierConfig } from '../../../workflows/chaos/notifier-config.ts'
import { occurrenceOf } from './occurrence.ts'
import { sendRequest } from './send-request.ts'
import { headerFields, headersIn } from './secret-file.ts'
import { parsedJson } from '../../../workflows/chaos/json-fields.ts'

/** @throws a plain Error that names a file of headers that is unreadable or invalid. */
export function httpNotifier(config: HttpNotifierConfig, clusterName: string): Notifier {
  const urls = new Map([
    [DISRUPTION_KIND, config.disruptionURL],
    [DISRUPTION_CRON_KIND, config.disruptionCronURL],
  ])
  const headers = () => [
    ...(config.headersFilepath === undefined ? [] : headersIn(config.headersFilepath)),
    ...config.headers,
  ]
  headers()
  return {
    name: 'http',
    receivers(notification) {
      const occurrence = occurrenceOf(notification)
      if (urls.get(occurrence.kind) === undefined) return []
      return [{ name: 'http', payload: httpDocument(occurrence, clusterName) }]
    },
    async send({ id, subject, payload }, signal) {
      const url = urls.get(subject.kind)
      if (url === undefined)
        throw new ActivityError('NotifierOff', `the configuration has no notifier for ${subject.kind} any more`, {
          retryable: false,
        })
      const token = config.auth === undefined ? undefined : await tokenOf(config.auth, signal)
      await sendRequest({
        notifier: 'http',
        method: 'POST',
        url,
        body: payload,
        signal,
        headers: {
          'idempotency-key': id,
          ...headerFields(headers()),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      })
    },
  }
}

async function tokenOf(
  { url, headers, tokenPath }: NonNullable<HttpNotifierConfig['auth']>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await sendRequest({ notifier: 'authURL', method: 'GET', url, headers: headerFields(headers), signal })
  const token = tokenAt(answer, tokenPath)
  if (token !== undefined) return token
  const expected = tokenPath === undefined ? 'a token' : `a token at ${tokenPath}`
  throw new ActivityError('NotifierUnauthorized', `authURL: the answer has no token; expected ${expected}`, {
    retryable: true,
  })
}

/**
 * The token in the response of a token server.
 * @param path keys and indices, `data.tokens.0`; undefined: the whole response is the token.
 * @returns undefined if it is missing, or contains characters that are invalid in a header.
 */
export function tokenAt(answer: string, path: string | undefined): string | undefined {
  const found = path === undefined ? answer.trim() : valueAt(parsedJson(answer), path.split('.'))
  return typeof found === 'string' && /^[\x21-\x7e]+$/.test(found) ? found : undefined
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined,
    value,
  )
}
