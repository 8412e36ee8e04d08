// Sends a JSON:API document of each Event to the URL of its kind. Source: spec/chaos.md 2.15.

import type { Notifier } from '../../run/notifier.ts'
import { ActivityError } from '../../../workflows/kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND } from '../../../workflows/chaos/contract.ts'
import { httpDocument } from '../../../workflows/chaos/notification.ts'
import type { HttpNotifierConfig } from '../../../workflows/chaos/notifier-config.ts'
import { occurrenceOf } from './occurrence.ts'
import { ask } from './post.ts'
import { headerFields, headersIn } from './secret-file.ts'
import { tokenAt } from './token.ts'

/** @throws a plain Error that names the file of headers that cannot be read, or has none. */
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
    receivers(told) {
      const occurrence = occurrenceOf(told)
      if (urls.get(occurrence.kind) === undefined) return []
      return [{ name: 'http', payload: httpDocument(occurrence, clusterName) }]
    },
    async send({ id, subject, payload }, signal) {
      const url = urls.get(subject.kind)
      if (url === undefined)
        throw new ActivityError('NotifierOff', `nobody is told of a ${subject.kind} any more`, { retryable: false })
      const token = config.auth === undefined ? undefined : await tokenOf(config.auth, signal)
      await ask({
        who: 'http',
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
  const answer = await ask({ who: 'authURL', method: 'GET', url, headers: headerFields(headers), signal })
  const token = tokenAt(answer, tokenPath)
  if (token !== undefined) return token
  const expected = tokenPath === undefined ? 'a token' : `a token at ${tokenPath}`
  throw new ActivityError('NotifierUnauthorized', `the answer of authURL has no token; expected ${expected}`, {
    retryable: true,
  })
}
