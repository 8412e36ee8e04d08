// The admission rules that need the configuration or the cluster, with an API server that returns prepared objects.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openAsyncRules } from '../../../activities/chaos/further-rules.ts'
import { DURATION_MUTATION } from '../../../workflows/chaos/disruption/rules/timing.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { disruptionRolloutKind } from '../../../workflows/chaos/disruption-rollout/kind.ts'
import { disruptionCronKind } from '../../../workflows/chaos/disruption-cron/kind.ts'
import { TOLERANCE_MUTATION } from '../../../workflows/chaos/disruption-cron/rules/cron.ts'
import type { AdmissionRequest, AsyncRules, Kind, ObjectReader, Problem } from '../../../workflows/kit/index.ts'
import { configFile } from '../../support/chaos/config-file.ts'
import { disrupting, DROP } from '../../workflows/chaos/disruption/spec-cases.ts'

const NEVER = new AbortController().signal
const HOSTS = { network: { drop: 10, hosts: [{ host: '10.0.0.0/8' }] } }
const STOP = 'chaos.datadoghq.com/emergency-stop'

let folder: string
let asked: string[]
/** The objects of the API server by path; for lists, an array. */
let there: Record<string, unknown>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-further-'))
  asked = []
  there = {
    '/api/v1/namespaces/shop': { metadata: { name: 'shop' } },
    '/api/v1/namespaces/chaos-engineering': { metadata: { name: 'chaos-engineering' } },
    '/api/v1/namespaces/shop/pods': pods(10),
    '/api/v1/pods': pods(100),
    '/api/v1/nodes': nodes(3),
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

const kube: ObjectReader = {
  get<Read>(path: string, { query = {} }: { readonly query?: Readonly<Record<string, string>> } = {}) {
    const { labelSelector, limit, continue: from = '0' } = query
    asked.push([path, labelSelector, limit, from].filter((part) => part !== undefined && part !== '0').join(' '))
    const found = there[path]
    if (!Array.isArray(found)) return Promise.resolve(found as Read | undefined)
    const end = Number(from) + Number(limit)
    const left = found.length - end
    const metadata =
      left <= 0 ? {} : { continue: String(end), ...(labelSelector === undefined && { remainingItemCount: left }) }
    return Promise.resolve({ metadata, items: found.slice(Number(from), end) } as Read)
  },
}

function rulesBy(config?: object, nodeName?: string): AsyncRules {
  return openAsyncRules({
    kube,
    ...(nodeName !== undefined && { nodeName }),
    warn: () => undefined,
    flags: { 'chaos-config': config === undefined ? undefined : configFile(folder, config) },
  })
}

async function told(
  spec: object,
  config?: object,
  request: Partial<AdmissionRequest> = {},
): Promise<readonly string[]> {
  const object = { metadata: { name: 'game', namespace: 'shop' }, spec: disrupting(spec) }
  return fields(
    await rulesBy(config).validate({
      kind: disruptionKind,
      namespace: 'shop',
      signal: NEVER,
      operation: 'CREATE',
      old: undefined,
      user: { name: 'alice', groups: ['dev'] },
      object,
      ...request,
    }),
  )
}

const ALL_NODES = { level: 'node', count: '100%' }
const safeMode = (safe: object) => ({ controller: { safeMode: safe } })

describe('the creation of a Disruption', () => {
  it('is admitted without a violated rule', async () => {
    expect(await told(HOSTS)).toEqual([])
  })

  it.each<[string, object, object, string]>([
    ['lasts too long (A13)', { duration: '3h' }, { controller: { maxDuration: '2h' } }, 'spec.duration 3h0m0s'],
    [
      'is of a disabled kind (A13)',
      {},
      { controller: { disabledDisruptions: ['network-disruption'] } },
      'spec.network network-disruption',
    ],
    [
      'is of a user of no such group (A17)',
      {},
      safeMode({ permittedUserGroups: ['ops'] }),
      ' a user of the groups dev',
    ],
    [
      'means no environment (A17)',
      {},
      safeMode({ environment: 'prod' }),
      'metadata.annotations[chaos.datadoghq.com/environment] nothing',
    ],
    ['begins while only deletions are carried out', {}, { controller: { deleteOnly: true } }, ' a new Disruption'],
    ['begins on init without the handler', { onInit: true }, {}, 'spec.onInit true'],
  ])('is refused when it %s, and nothing is read for that', async (_, spec, config, problem) => {
    expect(await told({ ...HOSTS, ...spec }, config)).toEqual([problem])
    expect(asked).toEqual([])
  })

  it('is rejected during an emergency stop of the namespace or the cluster, with the reason', async () => {
    there['/api/v1/namespaces/shop'] = { metadata: { name: 'shop', annotations: { [STOP]: 'too many alerts' } } }
    there['/api/v1/namespaces/chaos-engineering'] = {
      metadata: { name: 'chaos-engineering', annotations: { [STOP]: 'true' } },
    }
    const found = (name: string) => ` an emergency stop of namespace ${name} (annotation ${STOP})`
    expect(await told(HOSTS)).toEqual([`${found('shop')}: too many alerts`, found('chaos-engineering')])
  })

  it('needs existing Services', async () => {
    there['/api/v1/namespaces/other/services/db'] = { spec: { ports: [{ port: 5432 }] } }
    const services = (...names: string[]) => ({
      network: { drop: 10, services: names.map((name) => ({ name, namespace: 'other', ports: [{ port: 5432 }] })) },
    })
    expect(await told(services('db'))).toEqual([])
    expect(await told(services('db', 'gone'))).toEqual(['spec.network.services[1] no Service other/gone'])
  })
})

describe('safety nets', () => {
  it.each<[string, object, string[]]>([
    ['8 of 10 pods', { count: 8 }, []],
    ['9 of 10 pods', { count: 9 }, ['spec.count 9 of 10 in the namespace']],
    ['9 of 10 pods, unsafely', { count: 9, unsafeMode: { disableCountTooLarge: true } }, []],
    ['a share of 80 percent', { count: '80%' }, []],
    ['a share of 81 percent', { count: '81%' }, ['spec.count 9 of 10 in the namespace']],
    ['3 of 3 nodes', { count: 3, level: 'node' }, ['spec.count 3 of 3 in the cluster']],
    ['1 of 3 nodes', { count: '1%', level: 'node' }, []],
  ])('say of %s what they are for (A18)', async (_, spec, problems) => {
    expect(await told({ ...HOSTS, ...spec })).toEqual(problems)
  })

  it("do not count nodes of Pawl's processes, unless safeguards are disabled", async () => {
    const of = async (controller: object, nodeName?: string) => {
      const object = { metadata: { name: 'game', namespace: 'shop' }, spec: disrupting({ ...HOSTS, ...ALL_NODES }) }
      return fields(
        await rulesBy({ controller }, nodeName).validate({
          kind: disruptionKind,
          namespace: 'shop',
          signal: NEVER,
          operation: 'CREATE',
          old: undefined,
          user: { name: 'alice', groups: ['dev'] },
          object,
        }),
      )
    }
    there['/api/v1/nodes'] = nodes(3)
    const [, name = ''] = (there['/api/v1/nodes'] as { metadata: { name: string } }[]).map(
      ({ metadata }) => metadata.name,
    )
    expect(await of({})).toEqual(['spec.count 3 of 3 in the cluster'])
    expect(await of({ safeMode: { clusterThreshold: 60 } }, name)).toEqual(['spec.count 2 of 3 in the cluster'])
    expect(await of({ safeMode: { clusterThreshold: 67 } }, name)).toEqual([])
    expect(await of({ enableSafeguards: false, safeMode: { clusterThreshold: 67 } }, name)).toEqual([
      'spec.count 3 of 3 in the cluster',
    ])
  })

  it('are off without safe mode, and then read nothing', async () => {
    expect(await told({ ...DROP, count: 9 }, safeMode({ enable: false }))).toEqual([])
    expect(asked).toEqual(['/api/v1/namespaces/shop', '/api/v1/namespaces/chaos-engineering'])
  })

  it('check an update only if the count changes', async () => {
    const config = safeMode({ permittedUserGroups: ['ops'] })
    const operation = 'UPDATE'
    expect(await told({ ...HOSTS, count: 9 }, config, { operation })).toEqual(['spec.count 9 of 10 in the namespace'])
    expect(await told({ ...HOSTS, count: 8 }, config, { operation })).toEqual([])
    expect(asked.some((path) => path.startsWith('/api/v1/namespaces/shop '))).toBe(false)
  })

  it('count all objects with one object each, and list selected objects in chunks', async () => {
    there['/api/v1/namespaces/shop/pods'] = pods(1200)
    there['/api/v1/pods'] = pods(5000)
    expect(await told({ ...HOSTS, count: '50%' })).toEqual([])
    const of = '/api/v1/namespaces/shop/pods app=demo 500'
    expect(asked.slice(2).sort()).toEqual(
      ['/api/v1/namespaces/shop/pods 1', '/api/v1/pods 1', of, `${of} 500`, `${of} 1000`].sort(),
    )
  })
})

describe('a cron or rollout that operators have disabled', () => {
  const warningsOf = async (kind: Kind, config?: object) =>
    await rulesBy(config).warnings?.({
      kind,
      namespace: 'shop',
      signal: NEVER,
      operation: 'CREATE',
      old: undefined,
      user: { name: 'alice', groups: ['dev'] },
      object: {},
    })

  it('is admitted with a warning', async () => {
    const config = { controller: { disruptionCronEnabled: false, disruptionRolloutEnabled: false } }
    expect(await warningsOf(disruptionCronKind, config)).toEqual([
      'controller.disruptionCronEnabled is false: no Disruption is made',
    ])
    expect(await warningsOf(disruptionRolloutKind, config)).toEqual([
      'controller.disruptionRolloutEnabled is false: no Disruption is made',
    ])
    for (const kind of [disruptionCronKind, disruptionRolloutKind]) expect(await warningsOf(kind)).toEqual([])
  })
})

describe('the finalizer of a Disruption', () => {
  const held = (finalizers: readonly string[]) => ({ metadata: { name: 'game', namespace: 'shop', finalizers } })
  const HELD = held(['finalizer.chaos.datadoghq.com'])
  const off = async (object: object, kind: Kind = disruptionKind, old: object = HELD) =>
    fields(
      (await rulesBy().metadata?.({
        kind,
        namespace: 'shop',
        signal: NEVER,
        operation: 'UPDATE',
        old,
        object,
        user: { name: 'alice', groups: [] },
      })) ?? [],
    )
  const path = '/api/v1/namespaces/chaos-engineering/pods'
  const labels = 'chaos.datadoghq.com/disruption-name=game,chaos.datadoghq.com/disruption-namespace=shop'

  it('must stay while chaos pods exist (A16)', async () => {
    there[path] = pods(1)
    expect(await off(held([]))).toEqual(['metadata.finalizers a finalizer taken off'])
    expect(asked).toEqual([`${path} ${labels} 11`])
  })

  it('must stay while chaos pods exist in the recorded namespace', async () => {
    const begun = '/api/v1/namespaces/disturbers/pods'
    there[begun] = pods(1)
    const object = { ...held([]), status: { chaosNamespace: 'disturbers' } }
    const old = { ...HELD, status: { chaosNamespace: 'disturbers' } }
    expect(await off(object, disruptionKind, old)).toEqual(['metadata.finalizers a finalizer taken off'])
    expect(asked).toEqual([`${begun} ${labels} 11`])
  })

  it('may be removed after the last chaos pod', async () => {
    there[path] = []
    expect(await off(held([]))).toEqual([])
  })

  it('causes no request if it stays, or for other kinds', async () => {
    there[path] = pods(1)
    expect([...(await off(HELD)), ...(await off(held([]), disruptionCronKind))]).toEqual([])
    expect(asked).toEqual([])
  })
})

describe('a DisruptionCron', () => {
  it("must meet the operators' rules", async () => {
    const template = disrupting(DROP)
    const object = { metadata: { name: 'nightly' }, spec: { schedule: '*/5 * * * *', disruptionTemplate: template } }
    const config = { controller: { defaultDuration: '4m30s', safeMode: { permittedUserGroups: ['ops'] } } }
    expect(await told({}, config, { object, kind: disruptionCronKind } as Partial<AdmissionRequest>)).toEqual([
      ' a user of the groups dev',
      'spec.schedule 30s between the end of a Disruption and the next one',
    ])
  })
})

describe('the operators’ configuration', () => {
  it('sets the default durations', () => {
    const rules = rulesBy({ controller: { defaultDuration: '5m', defaultCronDelayedStartTolerance: '15m' } })
    const request = { operation: 'CREATE', object: {}, old: undefined, user: { name: 'x', groups: [] } } as const
    expect([
      rules.mutate?.(DURATION_MUTATION, { ...request, kind: disruptionKind }),
      rules.mutate?.(TOLERANCE_MUTATION, { ...request, kind: disruptionCronKind }),
      rules.mutate?.('another', { ...request, kind: disruptionKind }),
    ]).toEqual([
      [{ path: ['spec', 'duration'], value: '5m0s' }],
      [{ path: ['spec', 'delayedStartTolerance'], value: '15m0s' }],
      [],
    ])
  })

  it('keeps the webhook from starting if it is invalid', () => {
    expect(() => rulesBy({ controller: { deleteOnly: 'perhaps' } })).toThrow(/controller\.deleteOnly: found "perhaps"/)
  })

  it('keeps the webhook from starting if metrics have no destination', () => {
    const open = (flags: object, statsd: object) =>
      openAsyncRules({
        kube,
        warn: () => undefined,
        flags: { 'chaos-config': undefined, ...flags },
        metrics: { source: { addObserver: () => undefined }, statsd },
      })
    const sink = { 'metrics-sink': 'datadog' }
    expect(() => open(sink, {})).toThrow('controller.metricsSink): found neither STATSD_URL nor DD_AGENT_HOST')
    expect(() => open(sink, { url: 'unix:///dsd.socket' })).toThrow("STATSD_URL: found 'unix:///dsd.socket'")
    expect(() => open({}, {})).not.toThrow()
  })
})

function fields(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ field, found }) => `${field} ${found}`)
}

function pods(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, uid: `u-${index}`, resourceVersion: '1' },
    status: { phase: 'Running' },
  }))
}

function nodes(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}`, uid: `n-${index}`, resourceVersion: '1' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }))
}
