// Counts the requests to the API server, from its metric `apiserver_request_total`.
//
//   Q1. Leases and requests without a resource do not count.
//   Q2. Successful requests of the bench do not count.

import type { KubeClient } from '../../activities/kube/client.ts'

/** The number of answers for each "VERB resource code" since the start of the server. */
export type Counters = ReadonlyMap<string, number>

export interface Requests {
  /** Without writes of Kubernetes Events. */
  readonly writes: number
  readonly events: number
  /** Without watches. */
  readonly reads: number
  readonly conflicts: number
  /** Writes, by "VERB resource[/subresource]". */
  readonly byResource: Readonly<Record<string, number>>
}

const METRIC = 'apiserver_request_total{'
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION'])

export async function readCounters(kube: KubeClient): Promise<Counters> {
  const { statusCode, body } = await kube.stream('/metrics', AbortSignal.timeout(30_000))
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  if (statusCode !== 200) throw new Error(`GET /metrics: found status ${statusCode}, expected 200`)
  return parseCounters(Buffer.concat(chunks).toString('utf8'))
}

/** Parses the text of `/metrics` (Q1). */
export function parseCounters(text: string): Counters {
  const counters = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (!line.startsWith(METRIC)) continue
    const end = line.lastIndexOf('}')
    const labels = new Map(
      Array.from(line.slice(METRIC.length, end).matchAll(/(\w+)="([^"]*)"/g), ([, name = '', value = '']) => [
        name,
        value,
      ]),
    )
    const [resource = '', subresource = ''] = [labels.get('resource'), labels.get('subresource')]
    if (resource === '' || labels.get('group') === 'coordination.k8s.io') continue
    const path = subresource === '' ? resource : `${resource}/${subresource}`
    const key = `${labels.get('verb') ?? ''} ${path} ${labels.get('code') ?? ''}`
    counters.set(key, (counters.get(key) ?? 0) + Number(line.slice(end + 1)))
  }
  return counters
}

/** The requests between two readings. @param own the bench's requests by "VERB resource" (Q2). */
export function requestsBetween(before: Counters, after: Counters, own: Readonly<Record<string, number>>): Requests {
  const answers = answersBetween(before, after, own)
  const total = (some: readonly Answers[]) => some.reduce((sum, one) => sum + one.count, 0)
  const isEvent = ({ resource }: Answers) => resource === 'events'
  const writes = answers.filter(({ verb }) => WRITES.has(verb))
  const byResource: Record<string, number> = {}
  for (const { verb, resource, count } of writes) {
    const what = `${verb} ${resource}`
    byResource[what] = (byResource[what] ?? 0) + count
  }
  return {
    writes: total(writes.filter((one) => !isEvent(one))),
    events: total(writes.filter(isEvent)),
    reads: total(answers.filter(({ verb }) => !WRITES.has(verb) && verb !== 'WATCH')),
    conflicts: total(writes.filter(({ code }) => code === '409')),
    byResource,
  }
}

interface Answers {
  readonly verb: string
  readonly resource: string
  readonly code: string
  readonly count: number
}

function answersBetween(before: Counters, after: Counters, own: Readonly<Record<string, number>>): readonly Answers[] {
  const left = new Map(Object.entries(own))
  return [...after].flatMap(([key, total]) => {
    const [verb = '', resource = '', code = ''] = key.split(' ')
    const what = `${verb} ${resource}`
    const all = total - (before.get(key) ?? 0)
    const mine = code.startsWith('2') ? Math.min(left.get(what) ?? 0, all) : 0
    left.set(what, (left.get(what) ?? 0) - mine)
    return all === mine ? [] : { verb, resource, code, count: all - mine }
  })
}
